"""Records of a layout, and the packing of all roles on equal nodes (`shared`). Memory in MiB."""

from __future__ import annotations

from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from .capacity import Nodes, ceil_div, merged, node_capacity, room_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...site.partitions import Partition, Shape
    from .capacity import Demand

LayoutKind = Literal["plain", "het", "shared"]


class OtherLayout(Struct, frozen=True, kw_only=True):
    """The layout of several roles that is not chosen."""

    kind: LayoutKind
    """`het` or `shared`."""
    node_count: int | None = None
    """The number of its nodes; None if it cannot start."""
    why_not: str | None = None
    """Why it cannot start."""


class Layout(Struct, frozen=True, kw_only=True):
    """The layout: how roles share nodes."""

    kind: LayoutKind
    """`plain` for one role, `het` for a component per role, `shared` for one allocation for all roles."""
    reason: str
    """The reason for this layout, as text."""
    node_count: int | None = None
    """The number of nodes of a job with several roles; None if unknown."""
    other: OtherLayout | None = None
    """The layout that is not chosen, for a job with several roles."""


class Conditions(Struct, frozen=True, kw_only=True):
    """Inputs to the choice of a layout beside the job file. By role: GPU types, and features of nodes.

    `gpus_by_node` says, by role, whether Slurm cannot count the GPUs by task. `all_partitions` are those of the site;
    messages suggest a partition that fits. `alike` is false if roles request different nodes or
    accounts, which one allocation cannot combine. `danger` is the reason against a component for each role,
    `no_components` the reason why Slurm never starts such a job. `site_layout` is the layout that the site prefers, if
    any. `whole_nodes` says whether jobs get whole nodes. `backfill_interval` is in seconds, None if unknown.
    """

    batch_memory_mib: int
    gpu_types: tuple[str, ...]
    constraints: tuple[str, ...]
    gpus_by_node: tuple[bool, ...]
    all_partitions: tuple[Partition, ...]
    alike: bool
    danger: str
    no_components: str
    only_layout: LayoutKind | None
    site_layout: Literal["het", "shared"] | None
    whole_nodes: bool
    backfill_interval: int | None


class Allocation(Struct, frozen=True, kw_only=True):
    """The layout, the slots of each role, and their places: nodes by role, or one packing of all roles.

    `nodes_known` is false if the site profile does not describe the nodes, so that they may not suffice.
    """

    layout: Layout
    slots: tuple[int, ...]
    nodes: tuple[Nodes | None, ...]
    packing: Packing | None = None
    nodes_known: bool = True

    @property
    def node_count(self) -> int:
        """The number of nodes, as far as it is fixed."""
        return self.packing.nodes if self.packing else sum(need.count for need in self.nodes if need)


_STEPS = 16
"""The number of steps from a whole node to the smallest share of one."""


class NodeRange(Struct, frozen=True, kw_only=True):
    """Slots on a range of nodes, which count from 0 in the allocation."""

    first: int
    """The first node of the range."""
    last: int
    """The last node of the range."""
    slots: int
    """The slots on each of these nodes."""


Placement = tuple[NodeRange, ...]
"""The nodes of a role with their slots, in order; other nodes have no slots of the role."""


class Packing(Struct, frozen=True, kw_only=True):
    """The slots of every role on `nodes` equal nodes, spare ones last, and the resources of the fullest node."""

    placements: tuple[Placement, ...]
    nodes: int
    cpus: int
    memory_mib: int
    gpus: int


_Slots = list[tuple[int, int]]
"""The nodes of a role in order, each with its number of slots."""
_Amounts = tuple[int, int, int]
"""GPUs, CPUs and memory."""


def pack(shapes: Sequence[Shape], demands: Sequence[Demand], spare: int = 0) -> Packing | None:
    """Return the packing on the fewest nodes of one shape, evenly filled; None if no shape can hold all demands.

    `spare` more nodes of that shape get no slots.
    """
    gpu_type = next((demand.gpu_type for demand in demands if demand.gpu_type), "")
    able = [shape.of_gpu_type(gpu_type) for shape in shapes if all(node_capacity(shape, each) for each in demands)]
    packings = [packing for shape in merged(able) if (packing := _pack_on(shape, demands, spare)) is not None]
    return min(packings, key=lambda packing: (packing.nodes, packing.cpus, packing.gpus), default=None)


def _pack_on(shape: Shape, demands: Sequence[Demand], spare: int) -> Packing | None:
    filled = _fill(shape, max(shape.count - spare, 0), demands)
    if filled is None:
        return None
    # Fewer nodes are too small; with more, the last ones stay empty.
    nodes = 1 + max(node for slots in filled for node, _ in slots)
    shares = (_share(shape, step) for step in range(1, _STEPS))
    total = _total(demands)
    even = (
        _fill(share, nodes, demands)
        for share in shares
        if _has_room((nodes * share.gpus, nodes * share.cpus, nodes * share.memory_mib), total)
    )
    packing = _packing(next((slots for slots in even if slots is not None), filled), nodes, demands)
    return replace(packing, nodes=nodes + spare)


def _total(demands: Sequence[Demand]) -> _Amounts:
    amounts = zip(*(_plus((0, 0, 0), _size(demand), demand.slots) for demand in demands), strict=True)
    gpus, cpus, memory = map(sum, amounts)
    return (gpus, cpus, memory)


def _share(shape: Shape, step: int) -> Shape:
    """Return a part of a shape, so that all nodes are filled evenly."""
    part = {"cpus": shape.cpus * step // _STEPS, "gpus": ceil_div(shape.gpus * step, _STEPS)}
    return shape.model_copy(update=part)


def _fill(shape: Shape, nodes: int, demands: Sequence[Demand]) -> list[_Slots] | None:
    """Place each task on the first node with room, the largest tasks first; None if a task does not fit.

    Each step skips nodes that are too small for the current task, and later ones that are too small for all remaining
    tasks.
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
    """Yield the nodes of a role; consecutive nodes with equal slots form one range."""
    for _, run in groupby(enumerate(slots), key=lambda each: (each[1][0] - each[0], each[1][1])):
        members = [each for _, each in run]
        yield NodeRange(first=members[0][0], last=members[-1][0], slots=members[0][1])
