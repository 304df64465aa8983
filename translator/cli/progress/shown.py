"""Show how far jobs are while somebody waits for them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..output.console import is_terminal
from .job_progress import Progress, ProgressReader
from .line import ProgressLine

if TYPE_CHECKING:
    from collections.abc import Sequence

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
