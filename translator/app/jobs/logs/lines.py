"""Pieces of logs -> lines, and the interface of printers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .selection import Stream
    from .task_log import Piece


class Printer(Protocol):
    """A printer of pieces of the tasks' streams; a label names the task."""

    def write(self, label: str, piece: Piece) -> None:
        """Print a piece."""
        ...

    def rest(self, label: str, stream: Stream) -> None:
        """Print the incomplete last line of a stream."""
        ...

    def flush(self) -> None:
        """Flush the output."""
        ...


class LineTeller:
    """Call a function with each line and the name of its task; an incomplete last line follows at the end."""

    def __init__(self, each: Callable[[str, str], object]) -> None:
        self._each = each
        self._lines: dict[tuple[str, str], Lines] = {}

    def write(self, label: str, piece: Piece) -> None:
        """Pass on the complete lines."""
        lines = self._lines.setdefault((label, piece.stream), Lines())
        self._tell(label, lines.add(piece.data))

    def rest(self, label: str, stream: Stream) -> None:
        """Pass on the incomplete last line of a stream."""
        if lines := self._lines.get((label, stream)):
            self._tell(label, lines.rest())

    def flush(self) -> None:
        """Do nothing: lines are not buffered."""

    def _tell(self, label: str, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._each(label, line.decode("utf-8", errors="backslashreplace"))


MAX_LINE = 1 << 20
"""Bytes after which an incomplete line is printed in parts."""


class Lines:
    """Join pieces of a stream into lines; an incomplete line is kept until its end arrives."""

    def __init__(self) -> None:
        self._kept = b""

    def add(self, data: bytes) -> list[bytes]:
        """Return the complete lines without their line breaks; a very long one is returned in parts."""
        *complete, self._kept = (self._kept + data).split(b"\n")
        if len(self._kept) > MAX_LINE:
            complete.append(self._kept)
            self._kept = b""
        return complete

    def rest(self) -> list[bytes]:
        """Return the incomplete last line, if any."""
        kept, self._kept = self._kept, b""
        return [kept] if kept else []
