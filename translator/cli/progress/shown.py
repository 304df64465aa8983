"""Show how far jobs are while somebody waits for them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ...terminal_text import one_line
from ..output.console import colourful, is_terminal
from .job_progress import Progress, ProgressReader

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from ...state.job_folder import JobFolder

TICKS = 4
"""Of so many ticks one looks how far a job is."""


class ShownProgress:
    """Show on a terminal how far a job is, or of several how many have ended.

    It is a line that is away whenever something else may be printed; with `prints` that is what tasks print.
    """

    def __init__(self, folders: Sequence[JobFolder], *, prints: bool = False) -> None:
        self._line = ProgressLine()
        self._prints = prints
        self._folders = folders
        single = self._line.shows and len(folders) == 1
        self._reader = ProgressReader(folders[0]) if single else None
        self._now = Progress(words="")
        self._tick = 0

    def clear(self) -> None:
        """Take the line away."""
        self._line.clear()

    def show(self, ended: int) -> None:
        """Show how far the job is, or how many have `ended`."""
        if ended == len(self._folders) or not self._line.shows:
            return
        if self._reader is None:
            self._line.show(f"{ended}/{len(self._folders)} jobs ended", ended, len(self._folders))
            return
        if self._tick % TICKS == 0:
            self._now = self._reader.look()
        self._tick += 1
        begun = self._now.total and not self._now.staging
        # What a task prints need not end with a line.
        if not self._prints or not (begun and is_terminal(sys.stdout)):
            self._line.show(f"{self._folders[0].name} {self._now.words}", self._now.done, self._now.total)


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
