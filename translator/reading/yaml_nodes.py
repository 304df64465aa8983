"""Composition of YAML events into nodes; resolves aliases and merge keys, within bounds.

Source: YAML 1.1, merge keys and aliases; js-yaml 3.13 for the order of merged keys and the refusal of
duplicates.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml
from msgspec import Struct, field

from ..errors import Diagnostic, Location
from .decode import MAX_FILE, may_name_secrets
from .located_nodes import Node, shape
from .scalars import TAGGED, is_null, plain_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .document import Value
    from .located_nodes import Pairs

MAX_DEPTH = 100
"""The deepest nesting of values."""
MAX_VALUES = 500_000
"""The most values of a file, with aliases expanded."""
_FAULTS_SHOWN = 50
_KEY_HINT = "use text as the key; put text that begins with `{` or `[` in quotes"
_PREFIX = "tag:yaml.org,2002:"
_NULL_TAG = _PREFIX + "null"
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
"""A character as the two surrogates that JSON escapes use."""
_MAPPINGS = (_PREFIX + "map", _PREFIX + "set")
_LISTS = (_PREFIX + "seq", _PREFIX + "omap", _PREFIX + "pairs")


class _Frame(Struct):
    """A list or mapping in progress."""

    node: Node
    anchor: str | None
    tag: str = ""
    key: Node | None = None
    merged: set[str] = field(default_factory=set)
    """The keys from merge keys: explicit keys override them."""


class FatalReadError(Exception):
    """An error that makes further reading pointless, with its `diagnostic`."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__()
        self.diagnostic = diagnostic


class Composer:
    """Turn the events of one file into the root nodes of its documents.

    `diagnostics` collects errors after which reading continues. `secret_lines` collects the first
    and the last line of each value below a secret key. `documents` raises `FatalReadError` for errors that end
    reading, and `yaml.MarkedYAMLError` for text that is not YAML.
    """

    def __init__(self, file: str) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.secret_lines: list[tuple[int, int]] = []
        self._file = file
        self._anchors: dict[str, Node | None] = {}
        self._stack: list[_Frame] = []
        self._root: Node | None = None
        self._count = 0
        self._documents = 0

    def documents(self, events: Iterable[yaml.Event]) -> Iterator[Node]:
        """Yield the root node of each document."""
        for event in events:
            if isinstance(event, yaml.ScalarEvent):
                self._complete(self._scalar(event), event.anchor)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._start(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._end(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                self._anchors, self._root = {}, None
                self._documents += 1
            elif isinstance(event, yaml.DocumentEndEvent) and self._root is not None:
                yield self._root

    def _diagnostic(self, code: str, message: str, node: Node, hint: str = "") -> None:
        self.diagnostics.append(self._diagnostic_at(node, code, message, hint))
        if len(self.diagnostics) >= _FAULTS_SHOWN:
            raise FatalReadError(self.diagnostics.pop())

    def _diagnostic_at(self, node: Node, code: str, message: str, hint: str = "") -> Diagnostic:
        location = Location(file=self._file, line=node.line, column=node.column)
        return Diagnostic(code=code, message=message, location=location, hint=hint)

    def _node(self, event: yaml.NodeEvent) -> Node:
        mark: Any = event.start_mark
        line = mark.line + 1
        node = Node(line, mark.column + 1, line)
        self._count += 1
        if self._count > MAX_VALUES:
            raise FatalReadError(self._diagnostic_at(node, "E109", f"the file has more than {MAX_VALUES:,} values"))
        return node

    def _scalar(self, event: yaml.ScalarEvent) -> Node:
        node, text, tag = self._node(event), event.value, event.tag
        end: Any = event.end_mark
        last = end.line + 1 if end.column else end.line
        if last > node.line:
            node.last_line = last
        node.style, node.source, node.length = event.style, text, len(text)
        if tag is None and not node.style:
            node.value = plain_value(text)
        elif tag in (None, "!"):
            node.value = text
        else:
            node.value = self._tagged(tag, text, node)
        if isinstance(node.value, str) and ("\0" in node.value or not node.value.isascii()):
            if _PAIR.search(node.value):
                node.source = node.value = _PAIR.sub(
                    lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), node.value
                )
            self._check_characters(node.value, node)
        return node

    def _check_characters(self, text: str, node: Node) -> None:
        """Refuse characters that only escapes produce: NUL and lone surrogates."""
        odd = next((char for char in text if char == "\0" or "\ud800" <= char <= "\udfff"), None)
        if odd is not None:
            message = f"this text contains the character U+{ord(odd):04X}, which shells cannot store"
            self._diagnostic("E102", message, node, "remove its escape")

    def _tagged(self, tag: str, text: str, node: Node) -> Value:
        if tag == _NULL_TAG and is_null(text):
            return None
        if tag in (*_MAPPINGS, *_LISTS) and is_null(text):
            node.pairs, node.items, node.source = ({}, None, None) if tag in _MAPPINGS else (None, [], None)
            return {} if tag in _MAPPINGS else []
        value = TAGGED[tag](text) if tag in TAGGED else None
        if value is None:
            shown = "!!" + tag.removeprefix(_PREFIX) if tag.startswith(_PREFIX) else tag
            known = tag in TAGGED or tag == _NULL_TAG
            message = f"`{text[:40]}` does not match the tag {shown}" if known else f"the tag `{shown}` is unknown here"
            if self._is_secret():
                message = "a secret begins with `!`, or does not match its tag"
            self._diagnostic("E107", message, node, "remove the tag; put text that begins with `!` in quotes")
        return value

    def _is_secret(self) -> bool:
        """Whether the current value is a secret, which no message may quote."""
        keys = [frame.key.source for frame in self._stack if frame.key is not None]
        return self._documents > 1 or "secrets" in keys[:1] or "auth" in keys

    def _alias(self, event: yaml.AliasEvent) -> None:
        node = self._node(event)
        name = event.anchor or ""
        target = self._anchors.get(name)
        shown, anchor = ("an alias", "an anchor") if self._is_secret() else (f"`*{name}`", f"`&{name}`")
        if target is not None:
            node.value, node.pairs, node.items = target.value, target.pairs, target.items
            node.source, node.size, node.depth, node.length = target.source, target.size, target.depth, target.length
        elif name in self._anchors:
            hint = "write the value out"
            self._diagnostic("E108", f"{shown} is inside the value that it repeats", node, hint)
        else:
            message = f"{shown} has no {anchor}"
            self._diagnostic("E108", message, node, "put text that begins with `*` in quotes")
        self._complete(node, None)

    def _start(self, event: yaml.CollectionStartEvent) -> None:
        node = self._node(event)
        mapping = isinstance(event, yaml.MappingStartEvent)
        if not event.implicit and event.tag not in (None, "!", *(_MAPPINGS if mapping else _LISTS)):
            shown = "in front of a secret" if self._is_secret() else f"`{(event.tag or '').replace(_PREFIX, '!!')}`"
            self._diagnostic("E107", f"the tag {shown} is unknown here", node, "remove the tag")
        if mapping:
            node.pairs = {}
        else:
            node.items = []
        if event.anchor:
            self._anchors[event.anchor] = None
        self._stack.append(_Frame(node, event.anchor, event.tag or ""))
        if len(self._stack) > MAX_DEPTH:
            message = f"values are nested more than {MAX_DEPTH} deep"
            raise FatalReadError(self._diagnostic_at(node, "E109", message, "look for unclosed brackets"))

    def _end(self, event: yaml.CollectionEndEvent) -> None:
        frame = self._stack.pop()
        node = frame.node
        if problem := shape(node, frame.tag.removeprefix(_PREFIX)):
            self._diagnostic("E107", problem, node, "remove the tag")
        inner = [pair[0] for pair in node.pairs.values()] if node.pairs is not None else node.items or []
        size, length, depth, last = 1, 0, 0, node.line
        for each in inner:
            size += each.size
            length += each.length
            depth = max(depth, each.depth)
            last = max(last, each.last_line)
        start: Any = event.start_mark
        end: Any = event.end_mark
        if end.line == start.line and end.column > start.column:
            # A `]` or a `}`; the end of a block has no width, and its mark is at the next token.
            last = max(last, end.line + 1)
        node.size, node.length, node.depth, node.last_line = size, length, depth + 1, last
        if bound := _bound_broken(node):
            message, hint = (
                f"the aliases (`*name`) in this value expand to {bound}",
                "use fewer aliases, or put the data into a file",
            )
            raise FatalReadError(self._diagnostic_at(node, "E109", message, hint))
        if node.pairs is not None:
            node.value = {key: pair[0].value for key, pair in node.pairs.items()}
        else:
            node.value = [each.value for each in inner]
        self._complete(node, frame.anchor)

    def _complete(self, node: Node, anchor: str | None) -> None:
        """Add a finished node to its list or mapping."""
        if anchor:
            self._anchors[anchor] = node
        if not self._stack:
            self._root = node
            return
        frame = self._stack[-1]
        if frame.node.items is not None:
            frame.node.items.append(node)
        elif frame.key is None:
            frame.key = node
        elif frame.node.pairs is not None:
            key, frame.key = frame.key, None
            self._pair(frame.node.pairs, frame.merged, key, node)

    def _pair(self, pairs: Pairs, merged: set[str], key: Node, node: Node) -> None:
        """Add a key, or the keys of a merge, to a mapping; `merged` are its keys from merge keys."""
        if key.source is None:
            self._diagnostic("E106", "a list or a mapping is used as a key", key, _KEY_HINT)
        elif key.source == "<<" and key.style in (None, ""):
            self._merge(pairs, merged, node)
        elif key.source in pairs and key.source not in merged:
            line, column = pairs[key.source][1:]
            message = f"duplicate key `{key.source[:60]}`, first at {line}:{column}"
            self._diagnostic("E105", message, key, "delete or rename one of the two")
        else:
            merged.discard(key.source)
            pairs[key.source] = (node, key.line, key.column)
            if may_name_secrets(key.source):
                self.secret_lines.append((key.line, node.last_line))

    def _merge(self, pairs: Pairs, merged: set[str], node: Node) -> None:
        """Add those keys of the mappings after `<<` that the mapping does not have yet."""
        for source in node.items if node.items is not None else [node]:
            if source.pairs is None:
                message = "the merge key `<<` needs a mapping, or a list of mappings"
                self._diagnostic("E110", message, node, "write `<<: *name`")
                return
            for key, pair in source.pairs.items():
                if key not in pairs:
                    merged.add(key)
                    pairs[key] = pair


def _bound_broken(node: Node) -> str:
    """Return which bound a list or a mapping exceeds, or ""."""
    if node.size > MAX_VALUES:
        return f"more than {MAX_VALUES:,} values"
    if node.length > MAX_FILE:
        return f"more than {MAX_FILE >> 20} MB of text"
    return "values nested too deeply" if node.depth > MAX_DEPTH else ""
