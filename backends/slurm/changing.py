"""Change a job that waits or runs, through scontrol, and say in plain words what Slurm refuses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from paislurm.translator.errors import Diagnostic, RejectedError
from paislurm.translator.lazy import regex

from .commands import cluster_of, number_of
from .refusals import failure, slurm_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..base import JobId
    from ..runner import CommandRunner, Completed

FIELDS = {"time": "TimeLimit", "partition": "Partition", "account": "Account", "qos": "QOS", "nice": "Nice"}
"""What scontrol calls options of sbatch. Source: scontrol(1), SPECIFICATIONS FOR UPDATE COMMAND."""
HELD = "held"
SECONDS = 60.0


class _Refusal(NamedTuple):
    """Say what a message of scontrol means where one of some options was to be changed (none: any), and what helps."""

    says: re.Pattern[str]
    options: tuple[str, ...]
    hint: str


_REFUSALS = (
    _Refusal(
        regex("already finished"), (), "it ended in this moment: `paislurm submit --again JOB` submits it once more"
    ),
    _Refusal(
        regex("no longer pending"),
        ("partition", "account", "qos", "nice"),
        "where a job goes, and who is charged, can be changed only while it waits",
    ),
    _Refusal(
        regex("denied"),
        ("time",),
        "a user may lower the time limit of a job that runs, and change that of one that waits up to what the "
        "partition allows; an administrator may do more",
    ),
    _Refusal(regex("denied"), ("nice",), "a user may only put a job behind others: a nice of 0 or more"),
    _Refusal(regex("denied"), (HELD,), "an administrator holds it: only an administrator can release it"),
    _Refusal(regex("[Ii]nvalid partition"), (), "`sinfo` lists the partitions"),
    _Refusal(regex("[Ii]nvalid (?:account|qos)"), (), "`sacctmgr show associations user=$USER` lists yours"),
)
"""Source: observed on 22.05, 24.11 and 26.05, whose words are the same."""


def commands(job_id: JobId, values: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield the command lines that change a job, with the options that each is about.

    The leader of a heterogeneous job stands for all its components. Source: observed on 22.05, 24.11 and 26.05.
    """
    cluster, number = cluster_of(job_id), number_of(job_id)
    program = ["scontrol", *([f"--clusters={cluster}"] if cluster else [])]
    options = tuple(name for name in FIELDS if name in values)
    if options:
        yield options, [*program, "update", f"JobId={number}", *(f"{FIELDS[name]}={values[name]}" for name in options)]
    if HELD in values:
        yield (HELD,), [*program, "hold" if values[HELD] == "yes" else "release", number]


def change(runner: CommandRunner, job_id: JobId, values: Mapping[str, str]) -> None:
    """Change a job; RejectedError with the options that Slurm refuses, UnreachableError where it does not answer."""
    for options, argv in commands(job_id, values):
        done = runner.run(argv, timeout=SECONDS)
        if done.status:
            raise _error(options, argv, job_id, done)


def _error(options: tuple[str, ...], argv: Sequence[str], job_id: JobId, done: Completed) -> Exception:
    error = failure(argv, done)
    if not isinstance(error, RejectedError):
        return error
    words = slurm_words(done)
    fits = (
        each for each in _REFUSALS if each.says.search(words) and (not each.options or {*each.options} & {*options})
    )
    found = next(fits, None)
    named = " and ".join(f"--{argv[-2] if name == HELD else name}" for name in options)
    message = f"Slurm refuses {named} of job {job_id}: {words}"
    diagnostic = Diagnostic(code="E621", message=message, hint=found.hint if found else "see scontrol(1), update")
    return RejectedError(diagnostic, argv=tuple(argv), status=done.status, stderr=done.stderr, options=options)
