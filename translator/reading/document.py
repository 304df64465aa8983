"""The content of a file: plain values, and the line and column of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Union

from msgspec import Struct, field

from ..errors import Diagnostic, Location

if TYPE_CHECKING:
    from typing_extensions import Self

Path = tuple[str | int, ...]
"""The keys and list positions from the root to a value, `("taskRoles", "worker", "commands", 0)`."""


class SourceText(str):
    """A scalar that YAML would read as a date; job files mean text."""

    __slots__ = ()


class Bytes(str):
    """The text of `!!binary`: commands may contain it, but other values of the protocol may not."""

    __slots__ = ()


class SourceInt(int):
    """An integer not written in plain decimal digits: `010`, `0x10`, `1_000`, `1:30:00`.

    `text` is the spelling: the time limit `1:30:00` means 90 minutes, not 5400.
    """

    text: str

    def __new__(cls, value: int, text: str) -> Self:
        """Make the integer and keep its spelling."""
        number = super().__new__(cls, value)
        number.text = text
        return number


Value = Union[None, bool, int, float, str, "Mapping[str, Value]", "Sequence[Value]"]


class Span(Struct, frozen=True, kw_only=True):
    """The extent of a value in the file; lines and columns count from 1, `last_line` is inclusive.

    `key_line` and `key_column` are the position of the key of a mapping's value.
    """

    line: int
    column: int
    last_line: int
    key_line: int
    key_column: int
    text_line: int = 0
    """The first line of a scalar's text: for `|` and `>` the line after the indicator."""
    literal: bool = False
    """Whether it is a literal block (`|`), whose lines are lines of the file."""


class Document(Struct, frozen=True, kw_only=True):
    """The root value of a file and the spans of all its values.

    `lines` is the file's text by line; `shown` are the lines that messages may show. `secrets` is the
    second document, if any. The repr omits everything that may contain secrets.
    """

    file: str
    root: Value
    spans: Mapping[Path, Span]
    lines: tuple[str, ...] = ()
    shown: Sequence[str] = ()
    secrets: Mapping[str, Value] | None = None
    given: Mapping[Path, str] = field(default_factory=dict)
    """The values from command-line options, and the option of each: `--time`."""
    warnings: tuple[Diagnostic, ...] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(file={self.file!r})"

    def location_at(self, line: int, column: int) -> Location:
        """Return the location of a line and column, with the text of the line if messages may show it."""
        source = self.shown[line - 1] if 0 < line <= len(self.shown) else ""
        return Location(file=self.file, line=line, column=column, source=source)

    def location(self, path: Path, *, key: bool = False) -> Location:
        """Return the location of the value at `path`, or of the nearest enclosing value."""
        for length in range(len(path), -1, -1):
            span = self.spans.get(path[:length])
            if span is not None:
                if key or length < len(path):
                    return self.location_at(span.key_line, span.key_column)
                return self.location_at(span.line, span.column)
        return Location(file=self.file)

    def place(self, path: Path, *, key: bool = False) -> Location | None:
        """Return the location of the value at `path`; None for a value from a command-line option."""
        return None if path in self.given else self.location(path, key=key)

    def location_in(self, path: Path, text: str, occurrence: int) -> Location:
        """Return the location of the n-th (from 0) `text` inside the scalar at `path`, else that of the scalar."""
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
        """Return the mapping at `path`, or an empty mapping."""
        value = self.at(path)
        return value if isinstance(value, Mapping) else {}

    def texts(self, path: Path) -> list[tuple[Path, str]]:
        """Return the texts of the list at `path`, each with its own path; other items are skipped."""
        value = self.at(path)
        found = enumerate(value if isinstance(value, list) else [])
        return [((*path, position), str(text)) for position, text in found if isinstance(text, str)]

    def mappings(self, path: Path) -> list[tuple[Path, Mapping[str, Value]]]:
        """Return the mappings of the list at `path`, each with its own path."""
        value = self.at(path)
        found = enumerate(value if isinstance(value, list) else [])
        return [((*path, position), each) for position, each in found if isinstance(each, Mapping)]

    def at(self, path: Path) -> Value:
        """Return the value at `path`, or None."""
        value = self.root
        for step in path:
            if isinstance(value, (dict, Mapping)) and isinstance(step, str):  # the check for dict is faster
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return None
        return value


def path_of(text: str) -> Path:
    """Parse a path such as `$.taskRoles[0].name`; a key with a dot or a bracket is in quotes, `$.extras["a.b"]`."""
    steps = re.findall(r"\.([^.\[]+)|\[(\d+)\]|\[\"([^\"\\]*)\"\]", text)
    return tuple(key or quoted or int(position) for key, position, quoted in steps)


def path_text(path: Path) -> str:
    """Return a path in the form of messages: `$.taskRoles.worker.commands[0]`; unusual keys are quoted."""
    parts = ["$"]
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif step.replace("_", "a").replace("-", "a").isalnum():
            parts.append(f".{step}")
        else:
            parts.append("[" + '"' + step.replace("\\", "\\\\").replace('"', '\\"') + '"]')
    return "".join(parts)
