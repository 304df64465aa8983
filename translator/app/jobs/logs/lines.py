"""Pieces of logs -> lines, and the interface of printers."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable

    from .task_log import Piece


class Printer(Protocol):
    """A printer of pieces of the tasks' streams; a label names the task."""

    def write(self, label: str, piece: Piece, *, at_first: bool) -> None:
        """Print a piece; `at_first` for output that existed at the start."""
        ...

    def end_first(self, label: str, stream: str, *, whole: bool) -> None:
        """End the existing output; `whole` if no more follows, to print an incomplete last line."""
        ...

    def rest(self, label: str) -> None:
        """Print the incomplete last lines of a task."""
        ...

    def flush(self) -> None:
        """Flush the output."""
        ...


class LineTeller:
    """Call a function with each line and the name of its task; an incomplete last line follows at the end."""

    def __init__(self, each: Callable[[str, str], object]) -> None:
        self._each = each
        self._lines: dict[tuple[str, str], Lines] = {}

    def write(self, label: str, piece: Piece, *, at_first: bool) -> None:  # noqa: ARG002 - as in Printer
        """Pass on the complete lines."""
        lines = self._lines.setdefault((label, piece.stream), Lines())
        self._tell(label, lines.add(piece.data))

    def end_first(self, label: str, stream: str, *, whole: bool) -> None:
        """Do nothing: existing lines have been passed on."""

    def rest(self, label: str) -> None:
        """Pass on the incomplete last lines of a task."""
        for (task, _), lines in self._lines.items():
            if task == label:
                self._tell(label, lines.rest())

    def flush(self) -> None:
        """Do nothing: lines are not buffered."""

    def _tell(self, label: str, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._each(label, _text(line))


MAX_LINE = 1 << 20
"""Bytes after which an incomplete line is printed in parts."""


class Lines:
    """Join pieces of a stream into lines; an incomplete line is kept until its end arrives.

    `grep` selects lines; `tail` limits the existing lines to the last ones.
    """

    def __init__(self, *, grep: re.Pattern[str] | None = None, tail: int | None = None) -> None:
        self._grep = grep
        self._kept = b""
        self._last: deque[bytes] | None = None if tail is None or grep is None else deque(maxlen=tail)

    def add(self, data: bytes) -> list[bytes]:
        """Return the complete lines without their line breaks; a very long one is returned in parts."""
        *complete, self._kept = (self._kept + data).split(b"\n")
        if len(self._kept) > MAX_LINE:
            complete.append(self._kept)
            self._kept = b""
        return self._wanted(complete)

    def at_first(self) -> list[bytes]:
        """Return the retained existing lines; all later lines are returned by `add`."""
        last, self._last = self._last, None
        return list(last or ())

    def rest(self) -> list[bytes]:
        """Return the incomplete last line, if any and selected."""
        kept, self._kept = self._kept, b""
        return self._wanted([kept]) if kept else []

    def _wanted(self, lines: Iterable[bytes]) -> list[bytes]:
        found = [line for line in lines if self._grep is None or self._grep.search(_text(line))]
        if self._last is None:
            return found
        self._last.extend(found)
        return []


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="backslashreplace")
