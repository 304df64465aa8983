"""A placement as text of at most 80 columns: a table for each kind of node, and what is not near."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ...folded_names import folded, ranges
from ...plural import counted
from ...terminal_text import columns_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .model import JobPlacement, PlacedDomain, PlacedNode

WIDTH = 80
_CELL = 22
"""The most characters of a list of CPUs or adapters."""
_NAMES = 16
"""The fewest columns for the names of tasks."""
_NO_DOMAINS = "the site profile has no `domains` for these nodes: `site detect --probe` reads them, with `sockets`"
_NO_NODES = "the job can get nodes of several kinds, so their sizes and domains are not shown"


def placement_text(placement: JobPlacement) -> str:
    """Return the placement as text: equal nodes once, with the tasks of the others."""
    nodes = placement.nodes
    tasks = counted(sum(len(node.tasks) for node in nodes), "task")
    what = f"{tasks} on {counted(len(nodes), 'node')}" if nodes else "Slurm chooses the nodes"
    lines = _wrapped(f"{placement.job} ({placement.layout}): {what}")
    unknown = {_NO_NODES if node.cpus is None else _NO_DOMAINS for node in nodes if not node.domains}
    for note in (*sorted(unknown), *placement.notes):
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


def node_facts(node: PlacedNode, *, whole: bool) -> str:
    """Return the sizes of a node, and what its tasks leave unused; `whole` nodes are not shared with other jobs."""
    facts = [(node.cpus, "CPU"), (node.gpus, "GPU"), (len(node.tasks), "task")]
    cpus, gpus = node.unused
    unused = " and ".join(counted(number, what) for number, what in ((cpus, "CPU"), (gpus, "GPU")) if number)
    left = f"; {unused} {'stay idle' if whole else 'not used'}" if unused else "; all used" if node.cpus else ""
    return ", ".join(counted(number, what) for number, what in facts if number) + left


def far_texts(node: PlacedNode) -> list[str]:
    """Return a sentence for each thing that is in another NUMA domain."""
    found: list[str] = []
    without: dict[str, list[str]] = {}
    for task in node.tasks:
        of_gpus = {each.number for each in node.domains if set(each.gpus) & set(task.gpu_numbers or ())}
        if "gpu" in task.far:
            gpus = f"{'GPU' if task.gpus == 1 else 'GPUs'} {ranges(set(task.gpu_numbers or ()))}"
            found.append(f"{task.name}: CPUs in {_domains(task.cpu_domains)}, but {gpus} in {_domains(of_gpus)}")
        if "adapter" in task.far:
            without.setdefault(_domains(of_gpus or task.cpu_domains), []).append(task.name)
    return found + [f"{folded(names)}: no adapter in {where}" for where, names in without.items()]


def _domains(numbers: Iterable[int]) -> str:
    found = set(numbers)
    return f"domain{'s' * (len(found) > 1)} {ranges(found)}"


class Row(NamedTuple):
    """GPUs of a domain, or () for none, with their tasks: the first role, and the names as text."""

    gpus: tuple[int, ...]
    role: str
    text: str


def domain_rows(node: PlacedNode, domain: PlacedDomain) -> list[Row]:
    """Return the tasks in a domain by their GPUs there, first for the lowest GPU.

    GPUs that no task is known to have are in a row without a role: not used, or chosen when the tasks start.
    """
    roles: dict[tuple[int, ...], str] = {}
    rows: dict[tuple[int, ...], dict[str, list[str]]] = {}
    for task in node.tasks:
        held = tuple(gpu for gpu in domain.gpus if gpu in (task.gpu_numbers or ()))
        ranks = {rank for rank, domains in enumerate(task.rank_domains or ()) if domain.number in domains}
        part = f" rank{'s' * (len(ranks) > 1)} {ranges(ranks)}" if 0 < len(ranks) < len(task.rank_domains or ()) else ""
        if held and task.rank_domains and not ranks:
            part = " (GPUs only)"
        elif ranks and not held and "gpu" in task.far:
            part += " (CPUs only)"
        if held or ranks:
            roles.setdefault(held, task.role)
            rows.setdefault(held, {}).setdefault(part, []).append(task.name)
    found = [
        Row(held, roles[held], ", ".join(folded(names) + part for part, names in parts.items()))
        for held, parts in rows.items()
    ]
    rest = tuple(gpu for gpu in domain.gpus if not any(gpu in held for held in rows))
    if rest or not found:
        known = all(task.gpu_numbers is not None for task in node.tasks)
        found.append(Row(rest, "", "" if not rest else "not used" if known else "chosen later" if found else ""))
    return sorted(found, key=lambda row: (not row.gpus, row.gpus))


def other_rows(node: PlacedNode) -> list[Row]:
    """Return the tasks of which no domain is known, with their sizes."""
    sizes: dict[tuple[str, str], list[str]] = {}
    for task in node.tasks:
        if task.rank_domains is None and not (node.domains and task.gpu_numbers):
            parts = [counted(number, what) for number, what in ((task.cpus, "CPU"), (task.gpus, "GPU")) if number]
            each = " and ".join(parts)
            sizes.setdefault((task.role, each), []).append(task.name)
    return [
        Row((), role, f"{folded(names)}: {each}{' each' * (len(names) > 1)}" if each else folded(names))
        for (role, each), names in sizes.items()
    ]


def _node_lines(node: PlacedNode, *, whole: bool) -> Iterator[str]:
    yield from _wrapped(f"node {node.number}: {node_facts(node, whole=whole)}")
    if node.domains:
        yield from _table(("DOMAIN", "CPUS", "ADAPTERS", "GPUS", "TASKS"), list(_rows(node)))
    yield from (line for row in other_rows(node) for line in _wrapped(row.text))
    yield from (line for note in node.notes for line in _wrapped(note))
    yield from (line for text in far_texts(node) for line in _wrapped(f"not near: {text}"))


def _rows(node: PlacedNode) -> Iterator[tuple[str, ...]]:
    for domain in node.domains:
        head = (str(domain.number), _short(domain.cpus), _short(folded(domain.adapters)))
        for row in domain_rows(node, domain):
            yield (*head, ranges(set(row.gpus)), row.text)
            head = ("", "", "")


def _short(text: str) -> str:
    return text if len(text) <= _CELL else f"{text[: _CELL - 1]}…"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table without its empty columns; names that are too long continue on the next line."""
    kept = [k for k in range(len(columns)) if any(row[k] for row in rows)]
    wide = sum(2 + max(len(row[k]) for row in (columns, *rows)) for k in kept[:-1])
    cells: list[list[str]] = [[columns[k] for k in kept]]
    for row in rows:
        lines = _split(row[kept[-1]], max(WIDTH - wide, _NAMES))
        cells += [
            [*([row[k] for k in kept[:-1]] if not number else [""] * (len(kept) - 1)), line]
            for number, line in enumerate(lines)
        ]
    yield from columns_text(cells).splitlines()


def _split(text: str, width: int) -> list[str]:
    """Split a list at commas into lines of at most a width."""
    lines = [""]
    for item in text.replace(",", ",\n").splitlines():
        if len(lines[-1]) + len(item) > width and lines[-1]:
            lines.append("")
        lines[-1] += item
    return [part for line in lines for part in (textwrap.wrap(line, width) or [""])]


def _wrapped(text: str) -> list[str]:
    """Return a sentence as lines; long lists of names are split at commas, too."""
    words = [part for word in text.split(" ") for part in _split(word, WIDTH - 2)]
    return textwrap.wrap(" ".join(words), WIDTH, subsequent_indent="  ", break_on_hyphens=False)
