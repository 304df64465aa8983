"""Parse the expected start from `sbatch --test-only`. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.slurm.refusals import slurm_messages

from ...errors import Diagnostic
from ...times import Time
from ..views.job import JobDependency
from .gpus import PartitionGpus

if TYPE_CHECKING:
    from paislurm.backends.runner import Completed

AT_ONCE_SECONDS = 60
"""A start within this many seconds counts as at once: the controller's clock may differ."""

_START = re.compile(
    r"^sbatch: Job \d+ to start at (\d{1,15})(?: \w+)? using \d+ processors on (?:nodes )?(\S+)"
    r"(?: in partition (\S+))?$"
)
"""With SLURM_TIME_FORMAT=%s. 26.05 appends an `a` to the time, and omits the partition of a heterogeneous job.

Source: observed on 22.05, 24.11, 26.05.
"""
_PREEMPTS = re.compile(r"^sbatch: +Preempts: ([\d,]+)$")
_FAILURE = re.compile(r"^allocation failure: ")
_SUBMIT_FAILURE = "sbatch: error: Batch job submission failed: "

WAITS_FOR_NODES = re.compile(r"Requested node configuration is not available")
"""No start: a job requests more than any node has, or nodes that are unavailable now. Only the latter can be
submitted. Source: observed on 22.05, 24.11, 26.05."""
WAITS = re.compile(r"Requested nodes are busy|Required node not available")
"""Temporary reasons. Source: slurm_errno.c, ESLURM_NODES_BUSY, ESLURM_NODE_NOT_AVAIL."""


class Start(Struct, frozen=True, kw_only=True):
    """The expected start of a job: `at` in seconds since 1970, None if unknown because of `reason`.

    `nodes` is a host list; `partition` is "" if Slurm names none; `preempts` are the jobs that would be preempted.
    `resources_free` is whether the requested resources are free now, None if unknown.
    """

    at: int | None = None
    nodes: str = ""
    partition: str = ""
    preempts: tuple[str, ...] = ()
    reason: str = ""
    resources_free: bool | None = None

    def seconds_from(self, now: int) -> int | None:
        """Return the seconds until the start, 0 for at once."""
        if self.at is None:
            return None
        return self.at - now if self.at - now > AT_ONCE_SECONDS else 0


class StartEstimate(Struct, frozen=True, kw_only=True):
    """The expected start of a job, and the GPUs of its partitions."""

    job: str
    """The job's name, without the user's."""
    user: str
    """The user who owns the job."""
    name: str
    """The name that the job's folder would have, `user~job`."""
    backend: str
    """`slurm`, `pyslurm`, `local`, or `ssh:` and a login node."""
    task_count: int
    """The number of tasks."""
    dependencies: tuple[JobDependency, ...]
    """The dependencies of the job."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings about the job file."""
    expected_start_at: Time | None
    """When Slurm expects to start the job."""
    expected_wait: int | None
    """The seconds until the start, 0 for at once; None if Slurm has no estimate because of `reason`."""
    at_once: bool
    """Whether the job would start at once."""
    resources_free: bool | None
    """Whether the requested resources are free now, so that backfill may start the job; None if unknown."""
    reason: str | None
    """Why Slurm has no estimate."""
    expected_nodes: str | None
    """The nodes on which Slurm expects to start the job, a host list."""
    expected_partition: str | None
    """The partition in which Slurm expects to start the job; None if it names none, as for several components."""
    preempted_jobs: tuple[str, ...]
    """The ids of jobs that would be preempted."""
    component_count: int
    """The number of components; the start is the latest of all components."""
    partitions: tuple[PartitionGpus, ...]
    """The job's partitions."""


def start_of(done: Completed) -> Start:
    """Parse sbatch's output for a job that can start; earlier lines may be the site's."""
    lines = done.stderr.splitlines()
    found = next((match for line in reversed(lines) if (match := _START.match(line))), None)
    if found is None:
        return Start(reason=f"its answer is not understood: {slurm_messages(done)}")
    preempts = next((match[1].split(",") for line in reversed(lines) if (match := _PREEMPTS.match(line))), [])
    nodes = "" if found[2] == "(null)" else found[2]
    return Start(at=int(found[1]), nodes=nodes, partition=found[3] or "", preempts=tuple(preempts))


def as_of_submit(stderr: str) -> str:
    """Convert a rejection's text to that of sbatch without `--test-only`."""
    return "".join(_FAILURE.sub(_SUBMIT_FAILURE, line) for line in stderr.splitlines(keepends=True))
