"""A placement as text of at most 80 columns: equal nodes once."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...folded_names import folded, ranges
from ...plural import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .place import JobPlacement, PlacedNode

WIDTH = 80
_NO_NODES = "the job can get nodes of several kinds, so their sizes are not shown"


def placement_text(placement: JobPlacement) -> str:
    """Return the placement as text: equal nodes once, with the tasks of the others."""
    nodes = placement.nodes
    tasks = counted(sum(len(node.tasks) for node in nodes), "task")
    what = f"{tasks} on {counted(len(nodes), 'node')}" if nodes else "Slurm chooses the nodes"
    lines = _wrapped(f"{placement.job} ({placement.layout}): {what}")
    unknown = [_NO_NODES] if any(node.cpus is None for node in nodes) else []
    for note in (*unknown, *placement.notes):
        lines += _wrapped(note)
    for like in equal_nodes(nodes):
        lines += ["", *_node_lines(like[0], whole=placement.whole_nodes)]
        if others := like[1:]:
            names = folded(task.name for node in others for task in node.tasks)
            which = f"node{'s' * (len(others) > 1)} {ranges({node.number for node in others})}"
            lines += _wrapped(f"{which}: the same with {names}")
    return "\n".join(lines) + "\n"


def equal_nodes(nodes: Iterable[PlacedNode]) -> list[list[PlacedNode]]:
    """Return the nodes in groups that differ only in their numbers and the indexes of their tasks."""
    groups: dict[PlacedNode, list[PlacedNode]] = {}
    for node in nodes:
        firsts: dict[str, int] = {}
        tasks = tuple(replace(task, index=task.index - firsts.setdefault(task.role, task.index)) for task in node.tasks)
        groups.setdefault(replace(node, number=0, tasks=tasks), []).append(node)
    return list(groups.values())


def _node_lines(node: PlacedNode, *, whole: bool) -> Iterator[str]:
    """Yield the size of a node, what its tasks leave unused, and its tasks; `whole` nodes are not shared with jobs."""
    facts = [(node.cpus, "CPU"), (node.gpus, "GPU"), (len(node.tasks), "task")]
    size = ", ".join(counted(number, what) for number, what in facts if number)
    unused = _amounts(*node.unused)
    left = f"; {unused} {'stay idle' if whole else 'not used'}" if unused else "; all used" if node.cpus else ""
    yield from _wrapped(f"node {node.number}: {size}{left}")
    sizes: dict[tuple[str, str], list[str]] = {}
    for task in node.tasks:
        sizes.setdefault((task.role, _amounts(task.cpus, task.gpus)), []).append(task.name)
    for (_, each), names in sizes.items():
        yield from _wrapped(f"{folded(names)}: {each}{' each' * (len(names) > 1)}")


def _amounts(cpus: int, gpus: int) -> str:
    return " and ".join(counted(number, what) for number, what in ((cpus, "CPU"), (gpus, "GPU")) if number)


def _wrapped(text: str) -> list[str]:
    """Return a sentence as lines; lists of names that are longer than a line are split at commas, too."""
    words = (word if len(word) <= WIDTH - 2 else word.replace(",", ", ") for word in text.split(" "))
    return textwrap.wrap(" ".join(words), WIDTH, subsequent_indent="  ", break_on_hyphens=False)
