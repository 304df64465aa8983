"""The picture of a placement: a box for each node, with its NUMA domains, and the GPUs and tasks in them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ..folded_names import folded, ranges
from ..planning.placement.model import PlacedNode, PlacedTask
from ..planning.placement.text import domain_rows, node_facts, other_rows
from .charts import COLOURS, LETTER, WIDE, Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..planning.placement.model import JobPlacement
    from ..planning.placement.text import Row
    from .model import TaskEntry

MAX_NODES = 64
"""The most nodes of a picture; a note counts the others."""
_GAP, _LINE = 16, 20
"""The space between nodes, and the height of a line of text."""
_LIST_LETTER = 7
"""Width of a letter in lists of numbers, which have many commas and dashes."""


class Box(NamedTuple):
    """The outline of a node or of a domain, which is its CSS class."""

    x: float
    y: float
    width: float
    height: float
    kind: str


class Chip(NamedTuple):
    """Tasks with the GPUs they have; `says` is the whole text, for tooltips and screen readers."""

    x: float
    y: float
    width: float
    colour: int
    text: str
    says: str


class DrawnPlacement(NamedTuple):
    """The picture of a placement."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    chips: tuple[Chip, ...]
    texts: tuple[Text, ...]
    chip_height: int = _LINE - 3


def named_nodes(placement: JobPlacement, tasks: Sequence[TaskEntry]) -> list[tuple[str, PlacedNode]]:
    """Return the nodes with their names, those of the plan or as the tasks of an attempt ran.

    Slots that take turns have no node of their own. Where tasks ran on other nodes than planned, domains are unknown.
    """
    planned = {(task.role, task.index): task for node in placement.nodes for task in node.tasks}
    ran = {(task.role, task.index): task.node for task in tasks if task.node}
    if planned and len(planned) < len(tasks):
        ran = {}
    names = [{ran.get((task.role, task.index), "") for task in node.tasks} - {""} for node in placement.nodes]
    every = [name for found in names for name in found]
    if set(ran) <= set(planned) and len(every) == len(set(every)) and all(len(found) < 2 for found in names):
        return [
            ("".join(found) or f"node {node.number}", node) for found, node in zip(names, placement.nodes, strict=True)
        ]
    by_name: defaultdict[str, list[PlacedTask]] = defaultdict(list)
    for (role, index), name in ran.items():
        of_plan = planned.get((role, index), PlacedTask(role=role, index=index, cpus=0, gpus=0))
        by_name[name].append(replace(of_plan, rank_domains=None, gpu_numbers=None, far=()))
    return [
        (name, PlacedNode(number=number, component=0, cpus=None, gpus=None, domains=(), tasks=tuple(found)))
        for number, (name, found) in enumerate(by_name.items(), 1)
    ]


def drawn_placement(
    nodes: Sequence[tuple[str, PlacedNode]], roles: Sequence[str], width: int, *, whole: bool
) -> DrawnPlacement:
    """Return the picture of some nodes, side by side on wide screens; the outlines of nodes come last."""
    columns = 3 if width == WIDE else 1
    size = (width - _GAP * (columns - 1)) / columns
    boxes: list[Box] = []
    chips: list[Chip] = []
    texts: list[Text] = []
    top, bottom = 0.0, 0.0
    for number, (name, node) in enumerate(nodes):
        if number % columns == 0:
            top = bottom + (_GAP if number else 0)
        x = number % columns * (size + _GAP)
        texts.append(Text(x + 8, top + 16, _fitting(name, size - 16)))
        y = top + 24
        for facts in node_facts(node, whole=whole).split("; "):
            texts.append(Text(x + 8, y + 10, _fitting(facts, size - 16), "quiet"))
            y += _LINE
        for title, rows in _groups(node):
            height = _LINE * (len(rows) + bool(title)) + 6
            if title:
                boxes.append(Box(x + 6, y, size - 12, height, "domain"))
                texts.append(Text(x + 14, y + 15, _fitting(title, size - 28, _LIST_LETTER), "quiet"))
            for place, row in enumerate(rows, bool(title)):
                said = ": ".join(filter(None, (_gpus(row), row.text)))
                shown = _fitting(said, size - 40)
                at = y + _LINE * place + 3
                if row.role:
                    colour = roles.index(row.role) % COLOURS if row.role in roles else 0
                    chips.append(Chip(x + 14, at, size - 28, colour, shown, said))
                else:
                    texts.append(Text(x + 20, at + 13, shown, "quiet"))
            y += height + 4
        boxes.append(Box(x, top, size, y - top + 2, "node"))
        bottom = max(bottom, y + 2)
    return DrawnPlacement(width, round(bottom) + 1, tuple(boxes), tuple(chips), tuple(texts))


def _groups(node: PlacedNode) -> Iterator[tuple[str, list[Row]]]:
    """Yield the rows of each domain with its title, and those of tasks without a known domain."""
    for domain in node.domains:
        parts = ", ".join(filter(None, (folded(domain.adapters), f"CPUs {domain.cpus}")))
        yield f"domain {domain.number}: {parts}", [row for row in domain_rows(node, domain) if row.gpus or row.text]
    if rows := other_rows(node):
        yield "", rows


def _gpus(row: Row) -> str:
    return f"GPU{'s' * (len(row.gpus) > 1)} {ranges(set(row.gpus))}" if row.gpus else ""


def _fitting(text: str, pixels: float, letter: int = LETTER) -> str:
    most = int(pixels // letter)
    return text if len(text) <= most else f"{text[: most - 1]}…"
