"""What tasks use."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ...times import Time

Source = Literal["sstat", "processes"]
"""Slurm's accounting of steps, or the processes of the tasks themselves."""
SENTENCES: dict[Source, str] = {
    "sstat": "from sstat, which asked the nodes just now: averages over the tasks of a row, CPUs since its first task "
    "began; the shells around tasks count",
    "processes": "from the processes of the tasks, during one second just now; memory that processes share counts for "
    "each",
}


class Usage(Struct, frozen=True, kw_only=True):
    """What a task uses, or on average each of the running tasks of a role."""

    role: str
    """The name of the role."""
    index: int | None
    """The index of the task in its role, from 0; None for an average of several tasks."""
    running_tasks: int
    """How many tasks these figures are about."""
    node: str | None
    """The node of the task."""
    cpus_busy: float | None
    """How many CPUs a task keeps busy: since it started by sstat, in one second by its processes."""
    cpu_time: int
    """CPU time of a task so far, in seconds."""
    used_memory_mib: int
    """Memory that a task uses, in MiB."""
    max_memory_mib: int | None = None
    """The most memory that a Slurm process of the task, its shell included, has used so far."""
    gpu_percent: int | None = None
    """How busy the GPUs of a task are, on average."""
    gpu_memory_mib: int | None = None
    """GPU memory that a task uses, in MiB."""


class Measured(Struct, frozen=True, kw_only=True):
    """What the running tasks of a job use."""

    name: str
    """The name of the job's folder, `user~job`."""
    job_id: str
    """The id of the Slurm job."""
    measured_by: Source
    """Where the figures come from."""
    measured_at: Time | None
    """When they were measured."""
    usages: tuple[Usage, ...]
    """What tasks use: each, or those of a role on average."""
