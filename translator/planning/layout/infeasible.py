"""Why a job can never start: which role no node can hold, or that the sum does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import Diagnostic
from .capacity import Demand, node_capacity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...job import Job
    from ...site.profile import Partition
    from .layout import Overheads

_ASK_FOR_LESS = "ask for less, or for another virtual cluster"


def node_count(partitions: Sequence[Partition]) -> int:
    """Return the number of nodes of these partitions, each counted once."""
    return sum(partition.node_count for partition in dict.fromkeys(partitions))


def names(partitions: Sequence[Partition]) -> str:
    """Return the partitions as messages name them."""
    found = [partition.name for partition in dict.fromkeys(partitions)]
    return ("partition " if len(found) == 1 else "partitions ") + ", ".join(found)


def infeasible(job: Job, partitions: Sequence[Partition], overheads: Overheads) -> list[Diagnostic]:
    """Name each role that no node can hold; if there is none, it is the sum that does not fit."""
    in_turn = _in_turn(job)
    diagnostics = [
        role_too_large(job, position, partition, overheads)
        for position, partition in enumerate(partitions)
        if not _fits_one(job, position, partition, overheads)
    ]
    return diagnostics or [
        Diagnostic(
            code="E414",
            message=f"the job can never start: its {job.task_count} tasks do not fit together on the "
            f"{node_count(partitions)} nodes of {names(partitions)}",
            path="$.taskRoles",
            hint=f"ask for less, for another virtual cluster, or {in_turn}" if in_turn else _ASK_FOR_LESS,
        )
    ]


def _in_turn(job: Job) -> str:
    """Return what gives the tasks of a job their turns, "" where its protocol has nothing for that."""
    switch = job.paths.gang_allocation.removeprefix("$.")
    return f"set {switch}: false to run tasks in turn" if switch else ""


def _fits_one(job: Job, position: int, partition: Partition, overheads: Overheads) -> bool:
    """Tell whether a node of the partition holds a task of the role at this position."""
    one = Demand(slots=1, resources=job.roles[position].resources, gpu_type=overheads.gpu_types[position])
    return any(node_capacity(shape, one) for shape in partition.shapes)


def _size(cpus: int, memory_mib: int, gpus: int, gpu_type: str) -> str:
    return f"{cpus} CPUs, {memory_mib} MiB and {gpus} {gpu_type + ' ' if gpu_type else ''}GPUs"


def role_too_large(job: Job, position: int, partition: Partition, overheads: Overheads) -> Diagnostic:
    """Return the diagnostic of the role at this position, which its partition can never hold."""
    role, gpu_type = job.roles[position], overheads.gpu_types[position]
    wanted = role.resources
    size = _size(wanted.cpus, wanted.memory_mib, wanted.gpus, gpu_type)
    holds_one, in_turn = _fits_one(job, position, partition, overheads), _in_turn(job)
    nodes = "; ".join(
        f"{s.count} nodes of {_size(s.cpus, s.memory_mib, s.gpus, s.gpu_type if gpu_type else '')}"
        for s in partition.shapes
    )
    what = f"{role.instances} tasks of {size} each" if holds_one else f"a task of {size}"
    if holds_one and role.has_fixed_ports:
        what += ", each on a node of its own because of their fixed ports,"
    return Diagnostic(
        code="E410",
        message=f"role {role.name} can never start: {what} do{'' if holds_one else 'es'} not fit partition "
        f"{partition.name} ({nodes})",
        path=role.paths.role,
        hint=f"ask for less, or {in_turn}" if holds_one and job.gang and in_turn else _ASK_FOR_LESS,
    )
