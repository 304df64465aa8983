"""Check whether the resources that a job's components request are free now. Memory is in MiB. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

from ...site.detection.config import number
from ...site.detection.nodes import GPU, gres

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .gpus import FreeNode, Pool

    Options = Sequence[tuple[str, str | None]]

_SIZES = frozenset(
    {"nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "mem", "mem-per-cpu", "gres", "gpus-per-task"}
)
_ANY_NODE = frozenset(
    {"job-name", "clusters", "time", "signal", "no-requeue", "partition", "account", "qos", "nice", "comment"}
    | {"mail-type", "mail-user"}
)
"""Options that do not restrict the nodes of a job. With any other (`constraint`, `begin`), the result is unknown."""


class _Ask(Struct, frozen=True, kw_only=True):
    """The request of a component; memory is None, `nodes` and `tasks_per_node` are 0 if not stated."""

    partitions: tuple[str, ...]
    nodes: int
    tasks: int
    tasks_per_node: int
    cpus: int
    memory_of_task: int | None
    memory_of_node: int | None
    gres_of_task: Mapping[tuple[str, str], int]
    gres_of_node: Mapping[tuple[str, str], int]


def fits_now(components: Iterable[Options], pools: Sequence[Pool]) -> bool | None:
    """Return whether all components fit on free nodes without sharing any; None if unknown.

    A component can use any of its partitions; default: Slurm's default partition.
    """
    found = {pool.name: pool for pool in pools}
    default = tuple(pool.name for pool in pools if pool.is_default)
    asks = [_asked(options) for options in components]
    taken: set[str] = set()
    for ask in asks:
        names = (ask.partitions or default) if ask else ()
        known = [found[name] for name in names if name in found]
        if ask is None or not known:
            return None
        places = (_places(ask, [node for node in pool.free_nodes if node.name not in taken]) for pool in known)
        chosen = next(filter(None, places), None)
        if chosen is None:
            return False
        taken |= chosen
    return True if asks else None


def _asked(options: Options) -> _Ask | None:
    """Return the request of a component, None with an option that this module does not know."""
    given = dict(options)
    if given.keys() - _SIZES - _ANY_NODE:
        return None
    values = {name: value or "" for name, value in given.items()}
    cpus = number(values.get("cpus-per-task", "")) or 1
    by_cpu, by_node = (number(values[name]) if name in values else None for name in ("mem-per-cpu", "mem"))
    by_task = values.get("gpus-per-task", "")
    return _Ask(
        partitions=tuple(filter(None, values.get("partition", "").split(","))),
        nodes=number(values.get("nodes", "")),
        tasks=number(values.get("ntasks", "")) or 1,
        tasks_per_node=number(values.get("ntasks-per-node", "")),
        cpus=cpus,
        memory_of_task=by_cpu * cpus if by_cpu is not None else None,
        memory_of_node=by_node,
        gres_of_task=_gres(f"{GPU}:{by_task}" if by_task else ""),
        gres_of_node=_gres(values.get("gres", "")),
    )


def _gres(text: str) -> Mapping[tuple[str, str], int]:
    return {(each.name, each.type): each.count for each in gres(text)} if text else {}


def _places(ask: _Ask, nodes: Iterable[FreeNode]) -> set[str]:
    """Return the names of nodes for a component, none if it does not fit."""
    rooms = sorted(((room, node.name) for node in nodes if (room := _room(ask, node))), reverse=True)
    chosen = rooms[: ask.nodes or len(rooms)]
    fits = len(chosen) >= ask.nodes and sum(room for room, _ in chosen) >= ask.tasks
    left, names = ask.tasks, set[str]()
    for room, name in chosen if fits else ():
        if left > 0 or ask.nodes:
            names.add(name)
        left -= room
    return names


def _room(ask: _Ask, node: FreeNode) -> int:
    """Return how many tasks fit on a node now.

    Without a stated memory, a task may need all memory of a node, and so an empty node.
    """
    if ask.memory_of_node is None and ask.memory_of_task is None and not node.is_empty:
        return 0
    if (ask.memory_of_node or 0) > node.memory_mib:
        return 0
    free = _with_any_type(node.gres)
    if any(free[each] < count for each, count in ask.gres_of_node.items()):
        return 0
    rooms = [node.cpus // ask.cpus, *(free[each] // count for each, count in ask.gres_of_task.items() if count)]
    if ask.memory_of_task:
        rooms.append(node.memory_mib // ask.memory_of_task)
    if ask.tasks_per_node:
        rooms.append(ask.tasks_per_node)
    return max(0, min(rooms))


def _with_any_type(has: Mapping[tuple[str, str], int]) -> Counter[tuple[str, str]]:
    """Return resources by name and type, and the total of a name under the type ""."""
    found: Counter[tuple[str, str]] = Counter()
    for (name, kind), count in has.items():
        found[name, kind] += count
        if kind:
            found[name, ""] += count
    return found
