"""A line on a terminal that says how far something is, and goes away before anything else is printed."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ...terminal_text import one_line
from ..output.console import colourful

if TYPE_CHECKING:
    from typing import TextIO

BAR = 20
CLEAR = "\r\x1b[K"


class ProgressLine:
    """Show a line in the place of the last one; on what is no colourful terminal, or for a client, nothing."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self.shows = self._stream is not None and colourful(self._stream)
        self._text = ""

    def show(self, words: str, done: int = 0, total: int = 0) -> None:
        """Show words, behind a bar where there is a total."""
        if not self.shows:
            return
        text = one_line(f"{self._bar(done, total)} {words}" if total else words)
        # A line that fills the window would be continued on the next one.
        text = text[: self._width() - 1]
        if text != self._text:
            self._text = text
            self._stream.write(f"{CLEAR}{text}")
            self._stream.flush()

    def clear(self) -> None:
        """Leave nothing of the line."""
        if self._text:
            self._text = ""
            self._stream.write(CLEAR)
            self._stream.flush()

    def _bar(self, done: int, total: int) -> str:
        full, empty = ("█", "░") if (self._stream.encoding or "").lower().startswith("utf") else ("#", ".")
        count = BAR * done // total
        return full * count + empty * (BAR - count)

    def _width(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80
