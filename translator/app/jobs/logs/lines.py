"""Put the pieces of a stream together to lines, and choose those that are wanted."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

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
