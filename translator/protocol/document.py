"""A read file: plain values, and beside them the line and column of every one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Union

from ..errors import Place

Path = tuple[Union[str, int], ...]
"""Where a value stands: keys and list positions from the root, `("taskRoles", "worker", "commands", 0)`."""


class SourceText(str):
    """A scalar that YAML would make a date of; OpenPAI job files mean the text."""

    __slots__ = ()


Value = Union[None, bool, int, float, str, "Mapping[str, Value]", "Sequence[Value]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Give the extent of a value in the file; lines and columns count from 1, `last_line` is inclusive.

    For the value of a mapping, `key_line` and `key_column` are where its key stands.
    """

    line: int
    column: int
    last_line: int
    key_line: int
    key_column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Hold the root value of a file and the spans of all values in it."""

    file: str
    root: Value
    spans: Mapping[Path, Span]

    def place(self, path: Path, *, key: bool = False) -> Place:
        """Return the place of the value at `path`, or of the nearest value around it that exists."""
        for length in range(len(path), -1, -1):
            span = self.spans.get(path[:length])
            if span is not None:
                if key or length < len(path):
                    return Place(file=self.file, line=span.key_line, column=span.key_column)
                return Place(file=self.file, line=span.line, column=span.column)
        return Place(file=self.file)


def path_text(path: Path) -> str:
    """Return a path as messages show it: `$.taskRoles.worker.commands[0]`; odd keys stand in quotes."""
    parts = ["$"]
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif step.replace("_", "a").replace("-", "a").isalnum():
            parts.append(f".{step}")
        else:
            parts.append("[" + '"' + step.replace("\\", "\\\\").replace('"', '\\"') + '"]')
    return "".join(parts)
