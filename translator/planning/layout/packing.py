"""The `shared` layout: all roles side by side on equal nodes. Memory in MiB."""

from __future__ import annotations

from itertools import accumulate, groupby
from typing import TYPE_CHECKING

from msgspec import Struct

from .capacity import ceil_div, merged, node_capacity, room_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...site.partitions import Shape
    from .capacity import Demand

_STEPS = 16
"""In how many steps the share of a node that is asked for may shrink."""


class NodeRange(Struct, frozen=True, kw_only=True):
    """Give a role `slots` slots on each node from `first` to `last`, which count from 0 in the allocation."""

    first: int
    last: int
    slots: int


Placement = tuple[NodeRange, ...]
"""The nodes on which a role has slots, in order; on all others it has none."""


class Packing(Struct, frozen=True, kw_only=True):
    """Hold where every role has its slots on `nodes` equal nodes, and what the fullest node needs."""

    placements: tuple[Placement, ...]
    nodes: int
    cpus: int
    memory_mib: int
    gpus: int


_Slots = list[tuple[int, int]]
"""The nodes of a role, in order, each with the number of its slots there."""
_Amounts = tuple[int, int, int]
"""GPUs, CPUs and memory."""


def pack(shapes: Sequence[Shape], demands: Sequence[Demand]) -> Packing | None:
    """Return the packing on the fewest nodes of one shape, evenly filled; None if no shape can hold all demands."""
    able = [shape for shape in shapes if all(node_capacity(shape, demand) for demand in demands)]
    packings = [packing for shape in merged(able) if (packing := _pack_on(shape, demands)) is not None]
    return min(packings, key=lambda packing: (packing.nodes, packing.cpus, packing.gpus), default=None)


def _pack_on(shape: Shape, demands: Sequence[Demand]) -> Packing | None:
    filled = _fill(shape, shape.count, demands)
    if filled is None:
        return None
    # On fewer nodes something is left over, on more the last ones stay empty.
    nodes = 1 + max(node for slots in filled for node, _ in slots)
    shares = (_share(shape, step) for step in range(1, _STEPS))
    total = _total(demands)
    even = (_fill(share, nodes, demands) for share in shares if _can_hold(share, nodes, total))
    return _packing(next((slots for slots in even if slots is not None), filled), nodes, demands)


def _total(demands: Sequence[Demand]) -> _Amounts:
    """Return what all tasks take together."""
    amounts = zip(*(_plus((0, 0, 0), _size(demand), demand.slots) for demand in demands), strict=True)
    gpus, cpus, memory = map(sum, amounts)
    return (gpus, cpus, memory)


def _can_hold(shape: Shape, nodes: int, total: _Amounts) -> bool:
    """Tell whether nodes have enough in sum; whether each task fits on one of them is another question."""
    return _has_room((nodes * shape.gpus, nodes * shape.cpus, nodes * shape.memory_mib), total)


def _share(shape: Shape, step: int) -> Shape:
    """Return a part of a shape, so that no node is filled before the others have their share."""
    part = {"cpus": shape.cpus * step // _STEPS, "gpus": ceil_div(shape.gpus * step, _STEPS)}
    return shape.model_copy(update=part)


def _fill(shape: Shape, nodes: int, demands: Sequence[Demand]) -> list[_Slots] | None:
    """Give each task the first node that has room, the largest tasks first; None if something is left over.

    For roles of one size only those nodes are looked at that have room for such a task, and for the sizes after it
    only those that have room for anything that is still to come.
    """
    if not all(node_capacity(shape, demand) for demand in demands):
        return None
    whole = (shape.gpus, shape.cpus, shape.memory_mib)
    placements: list[_Slots] = [[] for _ in demands]
    order = sorted(range(len(demands)), key=lambda position: _size(demands[position]), reverse=True)
    by_size = [(size, list(positions)) for size, positions in groupby(order, key=lambda p: _size(demands[p]))]
    least = [*accumulate((size for size, _ in reversed(by_size)), _least)]
    free: list[_Amounts] = []
    useful: list[int] = []
    for size, positions in by_size:
        smallest, before = least.pop(), len(free)
        useful = [node for node in useful if _has_room(free[node], smallest)]
        able = [node for node in useful if _has_room(free[node], size)]
        for position in positions:
            missing, looked = demands[position].slots, 0
            while missing:
                if looked == len(able):
                    if len(free) == nodes:
                        return None
                    able.append(len(free))
                    free.append(whole)
                node = able[looked]
                used = min(missing, room_for(demands[position], *free[node]))
                placements[position].append((node, used))
                free[node] = _plus(free[node], size, -used)
                missing -= used
                looked += 1
            able[:looked] = [node for node in able[:looked] if _has_room(free[node], size)]
        useful += range(before, len(free))
    return placements


def _size(demand: Demand) -> _Amounts:
    wanted = demand.resources
    return (wanted.gpus, wanted.cpus, wanted.memory_mib)


def _least(one: _Amounts, other: _Amounts) -> _Amounts:
    return (min(one[0], other[0]), min(one[1], other[1]), min(one[2], other[2]))


def _has_room(free: _Amounts, size: _Amounts) -> bool:
    return free[0] >= size[0] and free[1] >= size[1] and free[2] >= size[2]


def _plus(amounts: _Amounts, size: _Amounts, times: int) -> _Amounts:
    return (amounts[0] + times * size[0], amounts[1] + times * size[1], amounts[2] + times * size[2])


def _packing(filled: Sequence[_Slots], nodes: int, demands: Sequence[Demand]) -> Packing:
    loads: list[_Amounts] = [(0, 0, 0)] * nodes
    for slots, demand in zip(filled, demands, strict=True):
        for node, used in slots:
            loads[node] = _plus(loads[node], _size(demand), used)
    gpus, cpus, memory = (max(amounts) for amounts in zip(*loads, strict=True))
    return Packing(
        placements=tuple(tuple(_ranges(slots)) for slots in filled),
        nodes=nodes,
        cpus=cpus,
        memory_mib=memory,
        gpus=gpus,
    )


def _ranges(slots: _Slots) -> Iterator[NodeRange]:
    """Yield the nodes of a role, those that follow each other and have as many slots as one range."""
    for _, run in groupby(enumerate(slots), key=lambda each: (each[1][0] - each[0], each[1][1])):
        members = [each for _, each in run]
        yield NodeRange(first=members[0][0], last=members[-1][0], slots=members[0][1])
