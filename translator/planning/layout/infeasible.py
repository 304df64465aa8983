"""Diagnostics for jobs that can never start: a role too large for its nodes, or too many tasks in total."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...errors import Diagnostic
from ...plural import counted
from .capacity import Demand, is_satisfied, merged, node_capacity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...job import Job
    from ...site.partitions import Partition, Shape
    from .layout import Conditions

_ASK_FOR_LESS = "request fewer or smaller tasks, or choose another virtual cluster"


def node_count(partitions: Sequence[Partition]) -> int:
    """Return the number of nodes of these partitions, each counted once."""
    return sum(partition.node_count for partition in dict.fromkeys(partitions))


def names(partitions: Sequence[Partition]) -> str:
    """Return the names of the partitions for messages."""
    found = [partition.name for partition in dict.fromkeys(partitions)]
    return ("partition " if len(found) == 1 else "partitions ") + ", ".join(found)


def infeasible(job: Job, partitions: Sequence[Partition], conditions: Conditions) -> list[Diagnostic]:
    """Return a diagnostic for each role that fits on no node, or else one for the total."""
    in_turn = _turns_hint(job)
    diagnostics = [
        role_too_large(job, position, partition, conditions)
        for position, partition in enumerate(partitions)
        if not _fits_one(job, position, partition, conditions)
    ]
    return diagnostics or [
        Diagnostic(
            code="E414",
            message=f"the job can never start: its {counted(job.task_count, 'task')} do not fit together on the "
            f"{counted(node_count(partitions), 'node')} of {names(partitions)}",
            path="$.taskRoles",
            hint=f"{_ASK_FOR_LESS}, or {in_turn}" if in_turn else _ASK_FOR_LESS,
        )
    ]


def components_refused(job: Job, why: str, *, nodes_known: bool) -> Diagnostic:
    """Return the diagnostic for a job that needs a component for each role on a Slurm that starts no such job."""
    path = "$.taskRoles"
    if job.slurm_options.layout == "het":
        path, problem = "$.extras.slurm.layout", "the job requests the layout het"
        hint = "remove extras.slurm.layout, or set it to `shared`"
    elif not nodes_known:
        problem = "one allocation for all roles needs a site profile that describes the nodes"
        hint = "write one with `paislurm site detect`"
    else:
        problem = "its roles request different partitions, nodes or accounts, which one allocation cannot combine"
        hint = "send all roles to the same nodes, or ask the site for sched/backfill"
    message = f"{problem}, and Slurm starts no job with a component for each role here: {why}"
    return Diagnostic(code="E429", message=message, path=path, hint=hint)


def spare_refused(job: Job, why: str) -> Diagnostic:
    """Return the diagnostic for a job that cannot have spare nodes."""
    spare = counted(job.slurm_options.spare, "spare node")
    message = f"the job cannot have {spare}: {why}"
    hint = "spare nodes need the layout shared, and a site profile with nodes for all tasks and the spare ones"
    return Diagnostic(code="E430", message=message, path="$.extras.slurm.spare", hint=hint)


def _turns_hint(job: Job) -> str:
    """Return the hint to run the tasks in turn, "" if the protocol does not support that."""
    switch = job.paths.gang_allocation.removeprefix("$.")
    return f"set {switch}: false to run tasks one after another as resources become free" if switch else ""


def _one_task(job: Job, position: int, conditions: Conditions) -> Demand:
    return Demand(
        slots=1,
        resources=job.roles[position].resources,
        gpu_type=conditions.gpu_types[position],
        constraint=conditions.constraints[position],
    )


def _fits_one(job: Job, position: int, partition: Partition, conditions: Conditions) -> bool:
    one = _one_task(job, position, conditions)
    return any(node_capacity(shape, one) for shape in partition.nodes)


def role_too_large(job: Job, position: int, partition: Partition, conditions: Conditions) -> Diagnostic:
    """Return the diagnostic for the role at this position, which is too large for its partition."""
    role, one = job.roles[position], _one_task(job, position, conditions)
    wanted = role.resources
    size = _size(wanted.cpus, wanted.memory_mib, wanted.gpus, one.gpu_type)
    nodes = "; ".join(
        f"{_amount(s.count, 'node')} of {_size(s.cpus, s.memory_mib, s.gpus, s.gpu_type if one.gpu_type else '')}"
        for s in merged(shape.of_gpu_type(one.gpu_type) for shape in _suitable_nodes(partition, one))
    )
    nodes += f" with {one.constraint}" if one.constraint else ""
    if _fits_one(job, position, partition, conditions):
        what = f"{counted(role.instances, 'task')} of {size} each"
        most = job.most_per_node(role)
        if role.has_fixed_ports:
            what += ", each on a separate node because of their fixed ports,"
        elif most is not None:
            what += f", at most {most} on a node (tasksPerNode),"
        what += " do not fit"
        one = replace(one, most_per_node=most)
        hint = _fewer_tasks(job, partition, one)
    else:
        what, hint = f"a task of {size} does not fit", _smaller_task(partition, one)
    hint += _other_partitions(role.instances, one, [each for each in conditions.all_partitions if each != partition])
    message = f"role {role.name} can never start: {what} partition {partition.name} ({nodes})"
    return Diagnostic(code="E410", message=message, path=role.paths.role, hint=hint)


def _fewer_tasks(job: Job, partition: Partition, one: Demand) -> str:
    rooms = [(shape.count, node_capacity(shape, one)) for shape in partition.nodes]
    at_a_time = sum(count * room for count, room in rooms)
    if one.most_per_node is not None:
        at_a_time = max(most * sum(count for count, room in rooms if room >= most) for _, most in rooms)
    in_turn = _turns_hint(job)
    what = f"or {in_turn}" if job.gang and in_turn else "or for another virtual cluster"
    return f"at most {at_a_time} of these tasks fit at a time: request fewer, {what}"


def _suitable_nodes(partition: Partition, one: Demand) -> list[Shape]:
    """Return the nodes with the required features; all nodes if none has them."""
    able = [shape for shape in partition.nodes if is_satisfied(one.constraint, shape.features)]
    return able or list(partition.nodes)


def _other_partitions(tasks: int, one: Demand, others: Sequence[Partition]) -> str:
    """Return the partitions with room for all tasks as text, "" if none has."""
    able = [
        each.name for each in others if sum(shape.count * node_capacity(shape, one) for shape in each.nodes) >= tasks
    ]
    return f"; partition {' or '.join(able)} has room for {'it' if tasks == 1 else 'them'}" if able else ""


def _smaller_task(partition: Partition, one: Demand) -> str:
    wanted = one.resources
    suitable = [shape.of_gpu_type(one.gpu_type) for shape in _suitable_nodes(partition, one)]
    typed = [shape for shape in suitable if one.gpu_type in ("", shape.gpu_type)]
    shapes = typed or [shape.model_copy(update={"gpus": 0}) for shape in suitable]
    cpus, memory_mib, gpus = (
        max((getattr(shape, name) for shape in shapes), default=0) for name in ("cpus", "memory_mib", "gpus")
    )
    too_much = [
        text
        for asked, most, text in (
            (wanted.cpus, cpus, _amount(cpus, "CPU")),
            (wanted.memory_mib, memory_mib, f"{memory_mib} MiB"),
            (wanted.gpus, gpus, _gpus(gpus, one.gpu_type)),
        )
        if asked > most
    ]
    if not too_much:
        return _ASK_FOR_LESS
    return f"a task can have at most {' and '.join(too_much)} there: {_ASK_FOR_LESS}"


def _size(cpus: int, memory_mib: int, gpus: int, gpu_type: str) -> str:
    return f"{_amount(cpus, 'CPU')}, {memory_mib} MiB and {_gpus(gpus, gpu_type)}"


def _gpus(count: int, gpu_type: str) -> str:
    return _amount(count, f"{gpu_type} GPU".lstrip())


def _amount(count: int, what: str) -> str:
    return counted(count, what) if count else f"no {what}s"
