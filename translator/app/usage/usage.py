"""Records of the usage of tasks."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ...times import Time

Source = Literal["sstat", "processes"]
"""The source: Slurm's accounting of steps, or the processes of the tasks."""
SENTENCES: dict[Source, str] = {
    "sstat": "from sstat, which asked the nodes just now: averages over the tasks of a row, CPUs since its first task "
    "began; the shells around tasks count",
    "processes": "from the processes of the tasks, during one second just now; memory that processes share counts for "
    "each",
}


class Usage(Struct, frozen=True, kw_only=True):
    """The usage of a task, or the average of a role's running tasks."""

    role: str
    """The name of the role."""
    index: int | None
    """The index of the task in its role, from 0; None for an average of several tasks."""
    running_tasks: int
    """The number of measured tasks."""
    node: str | None
    """The node of the task."""
    cpus_busy: float | None
    """The number of busy CPUs of a task: since its start (sstat), or during one second (processes)."""
    cpu_time: int
    """CPU time of a task so far, in seconds."""
    used_memory_mib: int
    """The memory of a task, in MiB."""
    max_memory_mib: int | None = None
    """The most memory of one Slurm process of the task so far, including its shell."""
    gpu_percent: int | None = None
    """The average load of the GPUs of a task, in percent."""
    gpu_memory_mib: int | None = None
    """The GPU memory of a task, in MiB."""


class Measured(Struct, frozen=True, kw_only=True):
    """The usage of a job's running tasks."""

    name: str
    """The name of the job's folder, `user~job`."""
    job_id: str
    """The id of the Slurm job."""
    measured_by: Source
    """The source of the values."""
    measured_at: Time | None
    """When they were measured."""
    usages: tuple[Usage, ...]
    """The usage of each task, or the average for each role."""
