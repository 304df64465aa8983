"""Lines of what tasks print, as it comes in pieces; and what shows the pieces."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable

    from .task_log import Piece


class Printer(Protocol):
    """Show the pieces of the streams of tasks; a task goes by its label."""

    def write(self, label: str, piece: Piece, *, at_first: bool) -> None:
        """Show a piece; `at_first` if it was there before anybody looked."""
        ...

    def end_first(self, label: str, stream: str, *, whole: bool) -> None:
        """Go on to what comes; `whole` if nothing does, and a line without an end is shown."""
        ...

    def rest(self, label: str) -> None:
        """Show the last lines of a task that have no end."""
        ...

    def flush(self) -> None:
        """Hand on what was shown."""
        ...


class LineTeller:
    """Tell each line with the name of its task; a last line without an end is told at the end."""

    def __init__(self, each: Callable[[str, str], object]) -> None:
        self._each = each
        self._lines: dict[tuple[str, str], Lines] = {}

    def write(self, label: str, piece: Piece, *, at_first: bool) -> None:  # noqa: ARG002 - as in Printer
        """Tell the lines that are complete now."""
        lines = self._lines.setdefault((label, piece.stream), Lines())
        self._tell(label, lines.add(piece.data))

    def end_first(self, label: str, stream: str, *, whole: bool) -> None:
        """Tell nothing: what was there at first has been told."""

    def rest(self, label: str) -> None:
        """Tell the last lines of a task that have no end."""
        for (task, _), lines in self._lines.items():
            if task == label:
                self._tell(label, lines.rest())

    def flush(self) -> None:
        """Do nothing: all was told at once."""

    def _tell(self, label: str, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._each(label, _text(line))


MAX_LINE = 1 << 20
"""A longer line is shown before its end has come."""


class Lines:
    """Make lines of what comes in pieces; the beginning of a line is kept back until its end comes.

    Only those that `grep` finds, where it is given; of those that are there at first only the last `tail`.
    """

    def __init__(self, *, grep: re.Pattern[str] | None = None, tail: int | None = None) -> None:
        self._grep = grep
        self._kept = b""
        self._last: deque[bytes] | None = None if tail is None or grep is None else deque(maxlen=tail)

    def add(self, data: bytes) -> list[bytes]:
        """Return the lines that are complete now, without their line breaks; a very long one comes in parts."""
        *complete, self._kept = (self._kept + data).split(b"\n")
        if len(self._kept) > MAX_LINE:
            complete.append(self._kept)
            self._kept = b""
        return self._wanted(complete)

    def at_first(self) -> list[bytes]:
        """Return what was kept of the lines that were there at first; from now on all are wanted."""
        last, self._last = self._last, None
        return list(last or ())

    def rest(self) -> list[bytes]:
        """Return a last line that has no end, if it is there and wanted."""
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
