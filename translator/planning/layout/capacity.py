"""How many tasks a node takes, and how many nodes a role needs. Memory in MiB."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from .constraint import is_satisfied

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...job import Job, Resources
    from ...site.partitions import Partition, Shape
    from ...site.profile import Site


class Demand(Struct, frozen=True, kw_only=True):
    """Ask for `slots` tasks of equal size at a time; `extra_memory_mib` is kept free on each node beside them.

    `one_per_node` keeps them on nodes of their own, as far as they are concerned: they have fixed ports. `gpu_type` is
    the gres type of their GPUs, "" for any; `constraint` is what their nodes must have, "" for nothing.
    """

    slots: int
    resources: Resources
    extra_memory_mib: int = 0
    one_per_node: bool = False
    gpu_type: str = ""
    constraint: str = ""


class Nodes(Struct, frozen=True, kw_only=True):
    """Give a role `count` nodes, at most `tasks_per_node` tasks on each."""

    count: int
    tasks_per_node: int


def ceil_div(amount: int, size: int) -> int:
    """Return the quotient of two whole numbers, rounded up."""
    return -(-amount // size)


def node_capacity(shape: Shape, demand: Demand) -> int:
    """Return how many tasks fit on one node of a shape, 0 if none does."""
    if demand.gpu_type and demand.gpu_type != shape.gpu_type:
        return 0
    if demand.constraint and not is_satisfied(demand.constraint, shape.features):
        return 0
    return room_for(demand, shape.gpus, shape.cpus, shape.memory_mib)


def room_for(demand: Demand, gpus: int, cpus: int, memory_mib: int) -> int:
    """Return how many tasks fit into what is free on a node, 0 if none does."""
    wanted = demand.resources
    room = cpus // wanted.cpus
    if wanted.memory_mib:
        room = min(room, (memory_mib - demand.extra_memory_mib) // wanted.memory_mib)
    if wanted.gpus:
        room = min(room, gpus // wanted.gpus)
    return max(0, min(room, 1) if demand.one_per_node else room)


def merged(shapes: Iterable[Shape]) -> list[Shape]:
    """Return nodes of one size as one shape, whatever else they have."""
    sizes: Counter[Shape] = Counter()
    for shape in shapes:
        sizes[shape.model_copy(update={"count": 1, "features": None, "gres": None})] += shape.count
    return [shape.model_copy(update={"count": count}) for shape, count in sizes.items()]


def nodes_for(shapes: Sequence[Shape], demand: Demand) -> Nodes | None:
    """Return the fewest nodes for a demand, tasks spread evenly over them; None if the shapes can never hold it.

    Spreading evenly keeps the last node from being paid for and left empty: 9 tasks, 4 a node, are 3+3+3.
    """
    best: Nodes | None = None
    for most in sorted({node_capacity(shape, demand) for shape in shapes} - {0}, reverse=True):
        count = ceil_div(demand.slots, most)
        tasks_per_node = ceil_div(demand.slots, count)
        able = sum(shape.count for shape in shapes if node_capacity(shape, demand) >= tasks_per_node)
        if count <= able and (best is None or count < best.count):
            best = Nodes(count=count, tasks_per_node=tasks_per_node)
    return best


def allocate_disjoint(shapes: Sequence[Shape], demands: Sequence[Demand]) -> tuple[Nodes, ...] | None:
    """Return nodes for all demands where no two share a node, or None if there are not enough nodes.

    The demands that the fewest nodes can serve choose first, and take the smallest nodes that will do.
    """
    needs: list[Nodes] = []
    for demand in demands:
        need = nodes_for(shapes, demand)
        if need is None:
            return None
        needs.append(need)
    free = [shape.count for shape in shapes]
    ways = [
        [k for k, s in enumerate(shapes) if node_capacity(s, demand) >= need.tasks_per_node]
        for demand, need in zip(demands, needs, strict=True)
    ]
    for position in sorted(range(len(demands)), key=lambda p: sum(shapes[k].count for k in ways[p])):
        missing = needs[position].count
        for k in sorted(ways[position], key=lambda k: (shapes[k].gpus, shapes[k].cpus)):
            used = min(missing, free[k])
            free[k] -= used
            missing -= used
        if missing:
            return None
    return tuple(needs)


def whole_cores(job: Job, site: Site, partitions: Sequence[Partition]) -> Job:
    """Return a job whose tasks take whole cores, as Slurm gives them out.

    Half a core of a task is nobody else's anyway; and of an allocation that several tasks share, Slurm counts the
    cores once for all of them, and for a step once for each task, which then never starts (observed on 22.05).
    Source: slurm.conf(5), CR_Core.
    """
    if site.cpu_unit == "core":
        return job
    roles = []
    for role, partition in zip(job.roles, partitions, strict=True):
        threads = partition.threads_per_core
        cpus = ceil_div(role.resources.cpus, threads) * threads
        whole = cpus == role.resources.cpus
        roles.append(role if whole else replace(role, resources=replace(role.resources, cpus=cpus)))
    return replace(job, roles=tuple(roles))
