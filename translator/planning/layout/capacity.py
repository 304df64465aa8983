"""Tasks per node, nodes per role, and features of nodes. Memory in MiB."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ...job import Job, Resources
    from ...site.partitions import Partition, Shape
    from ...site.profile import Site

_NAME = re.compile(r"[^&|()\[\]{},*]+")
_COUNT = re.compile(r"\*\d+")
_WORD = re.compile(r"[&|()]|[^&|()]+")
_OF_SEVERAL_NODES = "[]{}*,"
"""Characters of expressions over several nodes, or with a meaning only for Slurm."""

_OF_NO_SIZE = {"count": 1, "features": None, "gres": None}
"""The properties of nodes that do not change how many tasks fit on one."""


class Demand(Struct, frozen=True, kw_only=True):
    """Up to `slots` tasks of equal size at a time, and `extra_memory_mib` free on each node beside them.

    `most_per_node` is the most tasks on a node, None for as many as fit. `gpu_type` is
    the gres type of their GPUs, "" for any; `constraint` are the required features, "" for none.
    """

    slots: int
    resources: Resources
    extra_memory_mib: int = 0
    most_per_node: int | None = None
    gpu_type: str = ""
    constraint: str = ""


class Nodes(Struct, frozen=True, kw_only=True):
    """The nodes of a role: `count` nodes, with at most `tasks_per_node` tasks on each."""

    count: int
    tasks_per_node: int


def ceil_div(amount: int, size: int) -> int:
    """Return the quotient of two whole numbers, rounded up."""
    return -(-amount // size)


def node_capacity(shape: Shape, demand: Demand) -> int:
    """Return how many tasks fit on one node of a shape."""
    shape = shape.of_gpu_type(demand.gpu_type)
    if demand.gpu_type and demand.gpu_type != shape.gpu_type:
        return 0
    if demand.constraint and not is_satisfied(demand.constraint, shape.features):
        return 0
    return room_for(demand, shape.gpus, shape.cpus, shape.memory_mib)


def room_for(demand: Demand, gpus: int, cpus: int, memory_mib: int) -> int:
    """Return how many tasks fit into the free resources of a node."""
    wanted = demand.resources
    room = cpus // wanted.cpus
    if wanted.memory_mib:
        room = min(room, (memory_mib - demand.extra_memory_mib) // wanted.memory_mib)
    if wanted.gpus:
        room = min(room, gpus // wanted.gpus)
    if demand.most_per_node is not None:
        room = min(room, demand.most_per_node)
    return max(0, room)


def merged(shapes: Iterable[Shape]) -> list[Shape]:
    """Return nodes with the same resources as one shape, without their other properties."""
    sizes: Counter[Shape] = Counter()
    for shape in shapes:
        sizes[shape.model_copy(update=_OF_NO_SIZE)] += shape.count
    return [shape.model_copy(update={"count": count}) for shape, count in sizes.items()]


def nodes_for(shapes: Sequence[Shape], demand: Demand) -> Nodes | None:
    """Return the fewest nodes for a demand, with tasks spread evenly; None if the shapes can never hold it.

    Even spreading avoids a nearly empty last node: 9 tasks, at most 4 per node, are 3+3+3.
    """
    best: Nodes | None = None
    for most in sorted({node_capacity(shape, demand) for shape in shapes} - {0}, reverse=True):
        nodes = evenly(demand.slots, most)
        able = sum(shape.count for shape in shapes if node_capacity(shape, demand) >= nodes.tasks_per_node)
        if nodes.count <= able and (best is None or nodes.count < best.count):
            best = nodes
    return best


def evenly(tasks: int, most: int) -> Nodes:
    """Return the fewest nodes for tasks, at most `most` on each, with tasks spread evenly."""
    count = ceil_div(tasks, most)
    return Nodes(count=count, tasks_per_node=ceil_div(tasks, count))


def allocate_disjoint(shapes: Sequence[Shape], demands: Sequence[Demand]) -> tuple[Nodes, ...] | None:
    """Return separate nodes for each demand, or None if the nodes do not suffice.

    Demands with the fewest suitable nodes choose first, and take the smallest nodes that suffice.
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
        for k in sorted(ways[position], key=lambda k: (sum(shapes[k].gpus_by_type.values()), shapes[k].cpus)):
            used = min(missing, free[k])
            free[k] -= used
            missing -= used
        if missing:
            return None
    return tuple(needs)


def whole_cores(job: Job, site: Site, partitions: Sequence[Partition]) -> Job:
    """Return the job with tasks of whole cores, as Slurm allocates them.

    No other job can use the rest of a core anyway. Slurm counts a core that tasks share once for the allocation, but
    once per task for a step; the step then never starts (observed on 22.05).
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


def features_of(expression: str) -> list[str]:
    """Return the features of an expression, each once, without counts as in `rack1*2`.

    Slurm refuses an expression with any unknown feature, even in an alternative (observed on 22.05, 24.11, 26.05).
    Source: sbatch(1), --constraint.

    >>> features_of("[rack1*2&rack2*4]"), features_of("(a|b)&c")
    (['rack1', 'rack2'], ['a', 'b', 'c'])
    """
    return list(dict.fromkeys(_NAME.findall(_COUNT.sub("", expression))))


def is_satisfied(expression: str, features: Collection[str] | None) -> bool:
    """Whether a node with these features satisfies an expression; True if the features are unknown.

    >>> is_satisfied("(a|b)&c", ["b", "c"]), is_satisfied("a&b", ["a"]), is_satisfied("a&b", None)
    (True, False, True)
    """
    if not expression or features is None or any(mark in expression for mark in _OF_SEVERAL_NODES):
        return True
    words = _WORD.findall(expression)
    found = _value(words, features)
    return found if found is not None and not words else True


def _value(words: list[str], features: Collection[str]) -> bool | None:
    """Evaluate one pair of parentheses, remove its words, and return its value, None if it has no value.

    Slurm evaluates a mixture of `&` and `|` in an unusual order, so it has no value here.
    """
    values: list[bool | None] = []
    operators: set[str] = set()
    while words and words[0] != ")":
        word = words.pop(0)
        if word in ("&", "|"):
            operators.add(word)
        elif word == "(":
            values.append(_value(words, features))
            if words:
                words.pop(0)
        else:
            values.append(word in features)
    if operators == {"|"}:
        return True if True in values else None if None in values else False
    if None in values or len(operators) > 1 or not values:
        return None
    return all(values)
