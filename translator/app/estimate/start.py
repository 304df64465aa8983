"""When a job would start, as `sbatch --test-only` says it. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.slurm.refusals import slurm_words

if TYPE_CHECKING:
    from paislurm.backends.runner import Completed

AT_ONCE_SECONDS = 60
"""A start within so many seconds is one at once: the clock of the controller may be another."""

_START = re.compile(
    r"^sbatch: Job \d+ to start at (\d{1,15})(?: \w+)? using \d+ processors on (?:nodes )?(\S+)"
    r"(?: in partition (\S+))?$"
)
"""With SLURM_TIME_FORMAT=%s. 26.05 has an `a` behind the time; of a heterogeneous job it names no partition.

Source: observed on 22.05, 24.11, 26.05.
"""
_PREEMPTS = re.compile(r"^sbatch: +Preempts: ([\d,]+)$")
_FAILURE = re.compile(r"^allocation failure: ")
_SUBMIT_FAILURE = "sbatch: error: Batch job submission failed: "

WAITS_FOR_NODES = re.compile(r"Requested node configuration is not available")
"""Why there is no start: a job asks for what no node has, or for nodes that are out of order now. Of the latter, and
only of these, a submit is taken. Source: observed on 22.05, 24.11, 26.05."""
WAITS = re.compile(r"Requested nodes are busy|Required node not available")
"""Words for what becomes otherwise by itself. Source: slurm_errno.c, ESLURM_NODES_BUSY, ESLURM_NODE_NOT_AVAIL."""


class Start(Struct, frozen=True, kw_only=True):
    """Say when a job would start: at seconds since 1970, None where that is not known for a `reason`.

    `nodes` is a host list, `partition` the one that Slurm names, "" if none; `preempts` are the jobs that would give
    way. `resources_free` tells whether nodes have free now what the job asks for, None where nobody knows.
    """

    at: int | None = None
    nodes: str = ""
    partition: str = ""
    preempts: tuple[str, ...] = ()
    reason: str = ""
    resources_free: bool | None = None

    def seconds_from(self, now: int) -> int | None:
        """Return in how many seconds it would start, 0 for at once."""
        if self.at is None:
            return None
        return self.at - now if self.at - now > AT_ONCE_SECONDS else 0


def start_of(done: Completed) -> Start:
    """Return what sbatch says of a job that can start; the last lines are its own, others may be a site's."""
    lines = done.stderr.splitlines()
    found = next((match for line in reversed(lines) if (match := _START.match(line))), None)
    if found is None:
        return Start(reason=f"its answer is not understood: {slurm_words(done)}")
    preempts = next((match[1].split(",") for line in reversed(lines) if (match := _PREEMPTS.match(line))), [])
    nodes = "" if found[2] == "(null)" else found[2]
    return Start(at=int(found[1]), nodes=nodes, partition=found[3] or "", preempts=tuple(preempts))


def as_of_submit(stderr: str) -> str:
    """Return the words of a refusal as those that sbatch has without `--test-only`."""
    return "".join(_FAILURE.sub(_SUBMIT_FAILURE, line) for line in stderr.splitlines(keepends=True))
