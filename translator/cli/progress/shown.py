"""A line of progress on the terminal while a command waits for jobs."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ...app.jobs.progress import Progress, ProgressReader
from ...terminal_text import one_line
from ..output.console import colourful, is_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from ...state.job_folder import JobFolder

TICKS = 4
"""The number of ticks for each reading of a job's progress."""


class ShownProgress:
    """Show the progress of a job on a terminal, or the number of ended jobs.

    The line is cleared before other output; with `prints`, tasks print to the same terminal.
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
        """Clear the line."""
        self._line.clear()

    def show(self, ended: int) -> None:
        """Show the progress of the job, or the number of `ended` jobs."""
        if ended == len(self._folders) or not self._line.shows:
            return
        if self._reader is None:
            self._line.show(f"{ended}/{len(self._folders)} jobs ended", ended, len(self._folders))
            return
        if self._tick % TICKS == 0:
            self._now = self._reader.poll()
        self._tick += 1
        begun = self._now.total and not self._now.staging
        # The output of a task may end in the middle of a line.
        if not self._prints or not (begun and is_terminal(sys.stdout)):
            self._line.show(f"{self._folders[0].name} {self._now.words}", self._now.done, self._now.total)


BAR = 20
CLEAR = "\r\x1b[K"


class ProgressLine:
    """A line that replaces the previous one; it shows nothing unless the stream is a terminal with colours."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self.shows = self._stream is not None and colourful(self._stream)
        self._text = ""

    def show(self, words: str, done: int = 0, total: int = 0) -> None:
        """Show words, after a bar if `total` is not 0."""
        if not self.shows:
            return
        text = one_line(f"{self._bar(done, total)} {words}" if total else words)
        # The terminal would wrap a line that fills the window.
        text = text[: self._width() - 1]
        if text != self._text:
            self._text = text
            self._stream.write(f"{CLEAR}{text}")
            self._stream.flush()

    def clear(self) -> None:
        """Clear the line."""
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
