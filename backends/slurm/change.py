"""Change a job with all its components by one scontrol, and determine which changes Slurm accepted."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from paislurm.translator.errors import BackendError, Diagnostic, RejectedError

from .commands import cluster_of, number_of, scontrol
from .refusals import failure, slurm_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..base import JobId, Options
    from ..runner import CommandRunner

FIELDS = {"time": "TimeLimit", "partition": "Partition", "account": "Account", "qos": "QOS", "nice": "Nice"}
"""The scontrol names of sbatch options. Source: scontrol(1), SPECIFICATIONS FOR UPDATE COMMAND."""
SECONDS = 60.0
HELD = "held"
"""Whether a job is held. This is not an option of sbatch; scontrol has separate commands for it."""
_HINTS = {
    "already finished|[Ii]nvalid job id": "it has just ended: try again, or `paislurm submit --again JOB`",
    "no longer pending": "change the partition, account, QOS and nice value only while the job waits",
    "denied": "users can lower the time limit of a running job, set that of a waiting job within the partition's "
    "limit, and release their own holds; for more, ask an administrator",
    "[Ii]nvalid partition": "list the partitions with `sinfo`",
    "[Ii]nvalid (?:account|qos)": "list yours with `sacctmgr show associations user=$USER`",
    "": "read scontrol(1), update",
}
"""Hints by messages of scontrol. Source: observed on 22.05, 24.11 and 26.05, which use the same messages."""


def commands(job_id: JobId, values: Mapping[str, str], components: int) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield the command lines that change a job, each with its options.

    An update of a heterogeneous job's leader applies to all its components, but since some version the QOS changes
    only for the leader; so each component is named. Source: observed on 22.05 (all change), 24.11 and 26.05.
    """
    options, number = tuple(name for name in FIELDS if name in values), number_of(job_id)
    if options:
        jobs = ",".join([number, *(f"{number}+{component}" for component in range(1, components))])
        settings = (f"{FIELDS[name]}={values[name]}" for name in options)
        yield options, [*scontrol(cluster_of(job_id)), "update", f"JobId={jobs}", *settings]
    if HELD in values:
        word = "hold" if values[HELD] == "yes" else "release"
        yield (HELD,), [*scontrol(cluster_of(job_id)), word, number]


def change(
    runner: CommandRunner, job_id: JobId, values: Mapping[str, str], components: int, ask: Callable[[], Options]
) -> None:
    """Change a job. Raises RejectedError with the options that were not changed, or UnreachableError.

    `ask` returns the current options: if Slurm refuses one of several, it has accepted those before it. Source:
    observed on 22.05, 24.11 and 26.05.
    """
    left = tuple(name for name in values if name in FIELDS or name == HELD)
    for options, argv in commands(job_id, values, components):
        done = runner.run(argv, timeout=SECONDS)
        if not done.status:
            left = tuple(name for name in left if name not in options)
            continue
        error = failure(argv, done)
        if not isinstance(error, RejectedError):
            raise error
        now: Options = ()
        if len(options) > 1:
            with suppress(BackendError):
                now = ask()
        taken = [name for name in options if now and _all_have(now, name, values[name])]
        left = tuple(name for name in left if name not in taken)
        words = slurm_messages(done)
        refused = [name for name in options if name not in taken]
        message = f"Slurm refuses {_names(refused, values)} of job {job_id}: {words}"
        if taken:
            message += f"; it changed {_names(taken, values)}"
        hint = next(hint for pattern, hint in _HINTS.items() if re.search(pattern, words))
        diagnostic = Diagnostic(code="E621", message=message, hint=hint)
        raise RejectedError(diagnostic, argv=tuple(argv), status=done.status, stderr=done.stderr, options=left)


def _all_have(components: Options, name: str, value: str) -> bool:
    """Return whether all components have a value. Slurm writes account names in lower case, and sorts lists."""
    return all(_name_set(has.get(name, "")) == _name_set(value) for has in components)


def _name_set(value: str) -> set[str]:
    return {*value.casefold().split(",")}


def _names(options: Sequence[str], values: Mapping[str, str]) -> str:
    """Return options of `paislurm update`: `--time and --release`."""
    return " and ".join(
        f"--{name}" if name != HELD else "--hold" if values[name] == "yes" else "--release" for name in options
    )
