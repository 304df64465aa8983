"""Show how far a job is while somebody waits for it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..output.console import is_terminal
from .job_progress import Progress, ProgressReader
from .line import ProgressLine

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...state.job_folder import JobFolder

TICKS = 4
"""Of so many ticks one looks how far the job is."""


class ShownProgress:
    """Show on a terminal how far a job is, in a line that is away whenever something else may be printed."""

    def __init__(self, folder: JobFolder, between: Callable[[], object] | None) -> None:
        self.line = ProgressLine()
        self._name = folder.name
        self._between = between
        self._reader = ProgressReader(folder) if self.line.shows else None
        self._now = Progress(words="")
        self._tick = 0

    def between(self) -> None:
        """Print what there is to print, and then how far the job is."""
        if self._between is not None:
            self.line.clear()
            self._between()
        if self._reader is not None:
            if self._tick % TICKS == 0:
                self._now = self._reader.look()
            self._tick += 1
            begun = self._now.total and not self._now.staging
            # What a task prints need not end with a line.
            if self._between is None or not (begun and is_terminal(sys.stdout)):
                self.line.show(f"{self._name} {self._now.words}", self._now.done, self._now.total)
