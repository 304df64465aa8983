"""The nodes of a file: values with their places, and what a tag makes of a list or a mapping.

Source: YAML 1.1, its types of lists and mappings; js-yaml 3.13 for what they become.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from .document import Value


class Node(Struct):
    """Hold a value, where it stands, and the nodes inside it. Lines and columns count from 1."""

    line: int
    column: int
    last_line: int
    value: Value = None
    pairs: Pairs | None = None
    items: list[Node] | None = None
    style: str | None = None
    source: str | None = None
    """The text of a scalar as it is written; None for a list or a mapping."""
    size: int = 1
    length: int = 0
    """How many characters the scalars in it have, those behind aliases each time."""
    depth: int = 1


Pairs = dict[str, tuple[Node, int, int]]
"""The values of a mapping, each with the line and column of its key."""


def shape(node: Node, tag: str) -> str:
    """Return what keeps a list or a mapping from having its tag, "" for nothing; `!!pairs` becomes a list of lists."""
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
