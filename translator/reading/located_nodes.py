"""Nodes of a file: values with their locations, and the effect of tags on lists and mappings.

Source: YAML 1.1, its types of lists and mappings; js-yaml 3.13 for their values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from .document import Path, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .document import Value


class Node(Struct):
    """A value, its location, and the nodes inside it. Lines and columns count from 1."""

    line: int
    column: int
    last_line: int
    value: Value = None
    pairs: Pairs | None = None
    items: list[Node] | None = None
    style: str | None = None
    source: str | None = None
    """The text of a scalar as written; None for a list or a mapping."""
    size: int = 1
    length: int = 0
    """The number of characters in its scalars, aliases expanded."""
    depth: int = 1


Pairs = dict[str, tuple[Node, int, int]]
"""The values of a mapping, each with the line and column of its key."""


def shape(node: Node, tag: str) -> str:
    """Return why a list or a mapping does not match its tag, or ""; turn `!!pairs` into a list of lists."""
    if tag == "set" and any(value.value is not None for value, _, _ in (node.pairs or {}).values()):
        return "`!!set` is a mapping of keys without values"
    if tag not in ("omap", "pairs") or node.items is None:
        return ""
    keys = [next(iter(item.pairs)) for item in node.items if item.pairs and len(item.pairs) == 1]
    if len(keys) < len(node.items):
        return f"`!!{tag}` is a list of mappings with one key each"
    if tag == "omap" and len(set(keys)) < len(keys):
        return "`!!omap` is a list of mappings with different keys"
    if tag == "pairs":
        node.items = [_pair_of(item) for item in node.items]
    return ""


def _pair_of(item: Node) -> Node:
    """Return a mapping with one key as a list of the key and its value."""
    [(key, (value, line, column))] = (item.pairs or {}).items()
    name = Node(line=line, column=column, last_line=line, value=key, source=key)
    pair, size = [key, value.value], value.size + 2
    return replace(item, value=pair, pairs=None, items=[name, value], size=size, length=value.length)


class Spans(Mapping[Path, Span]):
    """Compute spans on demand: messages and explanations name few values of a file."""

    def __init__(self, root: Node, lines: tuple[str, ...]) -> None:
        self._root = root
        self._lines = lines

    def __getitem__(self, path: Path) -> Span:
        """Return the span of the value at a path; raise KeyError if no value is there."""
        node, line, column = self._root, self._root.line, self._root.column
        for step in path:
            if isinstance(step, str) and node.pairs is not None:
                node, line, column = node.pairs[step]
            elif isinstance(step, int) and node.items is not None and 0 <= step < len(node.items):
                node = node.items[step]
                line, column = node.line, node.column
            else:
                raise KeyError(path)
        return _span(node, (line, column), self._lines)

    def __iter__(self) -> Iterator[Path]:
        """Yield the paths of all values, outer values first."""
        todo: list[tuple[Path, Node]] = [((), self._root)]
        while todo:
            path, node = todo.pop()
            yield path
            todo += [((*path, name), value) for name, (value, _, _) in (node.pairs or {}).items()]
            todo += [((*path, number), item) for number, item in enumerate(node.items or ())]

    def __len__(self) -> int:
        """Return the number of values."""
        return sum(1 for _ in self)


def _span(node: Node, key: tuple[int, int], lines: tuple[str, ...]) -> Span:
    """Return the span of a node; `key` is the position of its key."""
    block = node.style in ("|", ">")
    line, column = _inside(node.line, node.column, lines)
    key_line, key_column = _inside(*key, lines)
    last = min(node.last_line, len(lines))
    while last > line and not lines[last - 1].strip():
        last -= 1
    return Span(
        line=line,
        column=column,
        last_line=max(last, line),
        key_line=key_line,
        key_column=key_column,
        text_line=min(line + 1, len(lines)) if block else line,
        literal=node.style == "|",
    )


def _inside(line: int, column: int, lines: tuple[str, ...]) -> tuple[int, int]:
    """Return the position, at most the end of the file: PyYAML puts an empty value behind it."""
    if line > len(lines):
        line, column = len(lines), len(lines[-1]) + 1
    return line, min(column, len(lines[line - 1]) + 1)
