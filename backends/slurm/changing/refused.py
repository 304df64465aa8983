"""Say in plain words what Slurm refuses of a change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from paislurm.translator.errors import Diagnostic, RejectedError

from ..refusals import failure, slurm_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paislurm.translator.errors import BackendError

    from ...base import JobId
    from ...runner import Completed

HELD = "held"
"""Whether a job is kept from beginning: no option of sbatch, and a command of scontrol of its own."""


class _Refusal(NamedTuple):
    """Say what a message of scontrol means where one of some options was to be changed (none: any), and what helps."""

    says: re.Pattern[str]
    options: tuple[str, ...]
    hint: str


_ENDED = re.compile("already finished|[Ii]nvalid job id")
_REFUSALS = (
    _Refusal(_ENDED, (), "it ended in this moment: `paislurm submit --again JOB` submits it once more"),
    _Refusal(
        re.compile("no longer pending"),
        ("partition", "account", "qos", "nice"),
        "where a job goes, and who is charged, can be changed only while it waits",
    ),
    _Refusal(
        re.compile("denied"),
        ("time",),
        "a user may lower the time limit of a job that runs, and change that of one that waits up to what the "
        "partition allows; an administrator may do more",
    ),
    _Refusal(re.compile("denied"), ("nice",), "a user may only put a job behind others: a nice of 0 or more"),
    _Refusal(re.compile("denied"), (HELD,), "an administrator holds it: only an administrator can release it"),
    _Refusal(re.compile("[Ii]nvalid partition"), (), "`sinfo` lists the partitions"),
    _Refusal(re.compile("[Ii]nvalid (?:account|qos)"), (), "`sacctmgr show associations user=$USER` lists yours"),
)
"""Source: observed on 22.05, 24.11 and 26.05, whose words are the same."""


def refused(
    options: Sequence[str], job_id: JobId, values: Mapping[str, str], argv: Sequence[str], done: Completed
) -> BackendError:
    """Return the error for a change of these options that has failed; no answer is never called a refusal."""
    error = failure(argv, done)
    if not isinstance(error, RejectedError):
        return error
    words = slurm_words(done)
    fits = (
        each for each in _REFUSALS if each.says.search(words) and (not each.options or {*each.options} & {*options})
    )
    found = next(fits, None)
    named = " and ".join(option_name(name, values) for name in options)
    message = f"Slurm refuses {named} of job {job_id}: {words}"
    diagnostic = Diagnostic(code="E621", message=message, hint=found.hint if found else "see scontrol(1), update")
    return RejectedError(diagnostic, argv=tuple(argv), status=done.status, stderr=done.stderr, options=tuple(options))


def option_name(name: str, values: Mapping[str, str]) -> str:
    """Return what `paislurm update` calls an option: `--time`, `--release`."""
    return f"--{name}" if name != HELD else "--hold" if values[name] == "yes" else "--release"


def is_over(error: BackendError) -> bool:
    """Tell whether Slurm refuses because the job has ended: nothing of it can be changed."""
    return _ENDED.search(error.stderr) is not None
