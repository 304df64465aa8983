"""The `shared` layout: all roles side by side on equal nodes. Memory in MiB."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .capacity import ceil_div, node_capacity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...site.profile import Shape
    from .capacity import Demand

_STEPS = 16
"""In how many steps the share of a node that is asked for may shrink."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """Hold the slots of every role on each of `nodes` equal nodes, and what the fullest node needs."""

    placements: tuple[tuple[int, ...], ...]
    nodes: int
    cpus: int
    memory_mib: int
    gpus: int


def pack(shapes: Sequence[Shape], demands: Sequence[Demand]) -> Packing | None:
    """Return the packing on the fewest nodes of one shape, evenly filled; None if no shape can hold all demands."""
    packings = [packing for shape in shapes if (packing := _pack_on(shape, demands)) is not None]
    return min(packings, key=lambda packing: (packing.nodes, packing.cpus, packing.gpus), default=None)


def _pack_on(shape: Shape, demands: Sequence[Demand]) -> Packing | None:
    least = max(1, _lower_bound(shape, demands))
    for nodes in range(least, shape.count + 1):
        if _fill(shape, nodes, demands) is None:
            continue
        for step in range(1, _STEPS + 1):
            placements = _fill(_share(shape, step), nodes, demands)
            if placements is not None:
                return _packing(placements, nodes, demands)
    return None


def _lower_bound(shape: Shape, demands: Sequence[Demand]) -> int:
    """Return a number of nodes below which the sums alone do not fit."""
    bound = 0
    for amount, have in (
        (sum(d.slots * d.resources.cpus for d in demands), shape.cpus),
        (sum(d.slots * d.resources.memory_mib for d in demands), shape.memory_mib),
        (sum(d.slots * d.resources.gpus for d in demands), shape.gpus),
    ):
        if amount and not have:
            return shape.count + 1
        bound = max(bound, ceil_div(amount, have) if have else 0)
    return bound


def _share(shape: Shape, step: int) -> Shape:
    """Return a part of a shape, so that no node is filled before the others have their share."""
    return replace(shape, cpus=shape.cpus * step // _STEPS, gpus=ceil_div(shape.gpus * step, _STEPS))


def _fill(shape: Shape, nodes: int, demands: Sequence[Demand]) -> list[list[int]] | None:
    """Fill the nodes one after the other, the largest tasks first; None if something is left over."""
    free = [[shape.cpus, shape.memory_mib, shape.gpus] for _ in range(nodes)]
    placements = [[0] * nodes for _ in demands]
    for position in sorted(range(len(demands)), key=lambda p: _size(demands[p])):
        demand, missing = demands[position], demands[position].slots
        wanted = demand.resources
        for node, (cpus, memory, gpus) in enumerate(free):
            left = replace(shape, count=1, cpus=cpus, memory_mib=memory, gpus=gpus)
            room = node_capacity(left, demand)
            used = min(room, missing)
            if used:
                placements[position][node] = used
                free[node] = [
                    cpus - used * wanted.cpus,
                    memory - used * wanted.memory_mib,
                    gpus - used * wanted.gpus,
                ]
                missing -= used
            if not missing:
                break
        if missing:
            return None
    return placements


def _size(demand: Demand) -> tuple[int, int, int]:
    wanted = demand.resources
    return (-wanted.gpus, -wanted.cpus, -wanted.memory_mib)


def _packing(placements: list[list[int]], nodes: int, demands: Sequence[Demand]) -> Packing:
    def fullest(amounts: list[int]) -> int:
        loads = [0] * nodes
        for placement, amount in zip(placements, amounts, strict=True):
            for node, used in enumerate(placement):
                loads[node] += used * amount
        return max(loads)

    return Packing(
        placements=tuple(tuple(placement) for placement in placements),
        nodes=nodes,
        cpus=fullest([d.resources.cpus for d in demands]),
        memory_mib=fullest([d.resources.memory_mib for d in demands]),
        gpus=fullest([d.resources.gpus for d in demands]),
    )
