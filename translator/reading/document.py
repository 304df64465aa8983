"""A read file: plain values, and beside them the line and column of every one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Union

from msgspec import Struct, field

from ..errors import Diagnostic, Location

if TYPE_CHECKING:
    from typing_extensions import Self

Path = tuple[str | int, ...]
"""Where a value stands: keys and list positions from the root, `("taskRoles", "worker", "commands", 0)`."""


class SourceText(str):
    """A scalar that YAML would make a date of; OpenPAI job files mean the text."""

    __slots__ = ()


class Bytes(str):
    """The text of `!!binary`: it can be put into a command, but is nothing that the protocol takes for text."""

    __slots__ = ()


class SourceInt(int):
    """An integer that was not written in plain decimal digits: `010`, `0x10`, `1_000`, `1:30:00`.

    `text` is how it was written: a time limit of `1:30:00` means that, and not 5400 minutes.
    """

    text: str

    def __new__(cls, value: int, text: str) -> Self:
        """Make the integer and keep its spelling."""
        number = super().__new__(cls, value)
        number.text = text
        return number


Value = Union[None, bool, int, float, str, "Mapping[str, Value]", "Sequence[Value]"]


class Span(Struct, frozen=True, kw_only=True):
    """Give the extent of a value in the file; lines and columns count from 1, `last_line` is inclusive.

    For the value of a mapping, `key_line` and `key_column` are where its key stands.
    """

    line: int
    column: int
    last_line: int
    key_line: int
    key_column: int
    text_line: int = 0
    """The line on which the text of a scalar begins: the one after the indicator for `|` and `>`."""
    literal: bool = False
    """Whether it is a literal block (`|`), each line of which is a line of the file."""


class Document(Struct, frozen=True, kw_only=True):
    """Hold the root value of a file and the spans of all values in it.

    `lines` is the file's text, line by line; `shown` is the part of it that messages may show. `secrets` is the
    second document of a file that has one. What may hold secrets is left out of the text of the object itself.
    """

    file: str
    root: Value
    spans: Mapping[Path, Span]
    lines: tuple[str, ...] = ()
    shown: Sequence[str] = ()
    secrets: Mapping[str, Value] | None = None
    given: Mapping[Path, str] = field(default_factory=dict)
    """Which values an option of the command line has put there, and which option: `--time`."""
    warnings: tuple[Diagnostic, ...] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(file={self.file!r})"

    def location_at(self, line: int, column: int) -> Location:
        """Return a place by its line and column, with the text of the line if that may be shown."""
        source = self.shown[line - 1] if 0 < line <= len(self.shown) else ""
        return Location(file=self.file, line=line, column=column, source=source)

    def location(self, path: Path, *, key: bool = False) -> Location:
        """Return the place of the value at `path`, or of the nearest value around it that exists."""
        for length in range(len(path), -1, -1):
            span = self.spans.get(path[:length])
            if span is not None:
                if key or length < len(path):
                    return self.location_at(span.key_line, span.key_column)
                return self.location_at(span.line, span.column)
        return Location(file=self.file)

    def place(self, path: Path, *, key: bool = False) -> Location | None:
        """Return the place of the value at `path` for a message; None for what an option of the command line gave."""
        return None if path in self.given else self.location(path, key=key)

    def location_in(self, path: Path, text: str, occurrence: int) -> Location:
        """Return the place of the n-th (from 0) `text` inside the scalar at `path`, or that of the scalar."""
        span = self.spans.get(path)
        if span is None or not self.lines:
            return self.location(path)
        for number in range(span.line, span.last_line + 1):
            column = self.lines[number - 1].find(text, span.column - 1 if number == span.line else 0)
            while column >= 0:
                if occurrence == 0:
                    return self.location_at(number, column + 1)
                occurrence -= 1
                column = self.lines[number - 1].find(text, column + len(text))
        return self.location(path)

    def mapping(self, path: Path) -> Mapping[str, Value]:
        """Return the mapping at `path`, an empty one where there is none."""
        value = self.at(path)
        return value if isinstance(value, Mapping) else {}

    def texts(self, path: Path) -> list[tuple[Path, str]]:
        """Return the texts of the list at `path`, each with its own path; what is no text is left out."""
        value = self.at(path)
        found = enumerate(value if isinstance(value, list) else [])
        return [((*path, position), str(text)) for position, text in found if isinstance(text, str)]

    def mappings(self, path: Path) -> list[tuple[Path, Mapping[str, Value]]]:
        """Return the mappings of the list at `path`, each with its own path."""
        value = self.at(path)
        found = enumerate(value if isinstance(value, list) else [])
        return [((*path, position), each) for position, each in found if isinstance(each, Mapping)]

    def at(self, path: Path) -> Value:
        """Return the value at `path`, or None where there is none."""
        value = self.root
        for step in path:
            if isinstance(value, (dict, Mapping)) and isinstance(step, str):  # a dict is told at once
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return None
        return value


def path_of(text: str) -> Path:
    """Return the path that a text such as `$.taskRoles[0].name` means; no key in it has a dot or a bracket."""
    return tuple(key or int(position) for key, position in re.findall(r"\.([^.\[]+)|\[(\d+)\]", text))


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
