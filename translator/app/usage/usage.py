"""What is shown of what tasks use, whichever source tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

Source = Literal["sstat", "processes"]
"""Slurm's accounting of steps, or the processes of the tasks themselves."""
SENTENCES: dict[Source, str] = {
    "sstat": "from sstat, which asked the nodes just now: averages over the tasks of a row, CPUs since its first task "
    "began; the shells around tasks count",
    "processes": "from the processes of the tasks, during one second just now; memory that processes share counts for "
    "each",
}


class Usage(Struct, frozen=True, kw_only=True):
    """Say what a task uses, or on average each of the running tasks of a role, whose `index` is None.

    `cpus_busy` is how many it keeps busy, `cpu_time` the seconds of CPU time so far. Memory is in MiB, GPUs in
    percent. None is not known.
    """

    role: str
    index: int | None
    running_tasks: int
    node: str
    cpus_busy: float | None
    cpu_time: int
    used_memory_mib: int
    max_memory_mib: int | None = None
    gpu_percent: int | None = None
    gpu_memory_mib: int | None = None


class Measured(NamedTuple):
    """Hold what was found, where, and when, in seconds since 1970."""

    source: Source
    time: int
    usages: Sequence[Usage]
