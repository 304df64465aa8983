"""Wait for jobs: a line of progress on the terminal, and the end of each; for many, each reason of failures once."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ...app.jobs.reported import Progress, ProgressReader
from ...terminal_text import one_line
from ..output.console import colourful, is_terminal, log
from ..output.several import A_FEW, cause_texts, log_ending, total_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TextIO

    from ...app.session import Session
    from ...app.use_cases.use_cases import JobFolder
    from ...view.jobs import JobView

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


def log_ends(
    session: Session,
    folders: Sequence[JobFolder],
    groups: Mapping[str, Iterable[str]],
    *,
    first: bool = False,
    quiet: bool = False,
    timeout: float | None = None,
) -> Sequence[JobView]:
    """Wait like `session.jobs.show_ends` and return the ends of jobs; `groups` contains the jobs of each named group.

    Raises NotFoundError for a job that the backend has forgotten, and WaitTimeoutError after `timeout` seconds.
    """
    many = len(folders) > A_FEW

    def tell(job: JobView) -> None:
        if many:
            log(one_line(job.sentence))
        else:
            log_ending(job)

    jobs = session.jobs.show_ends(
        *folders,
        first=first,
        reported=tell,
        explain=not many or quiet,
        quiet=quiet,
        timeout=timeout,
        progress=ShownProgress(folders),
    )
    if many:
        for text in cause_texts(jobs, session.jobs.failure_of):
            log(text)
    if many or groups:
        for text in total_texts(jobs, groups):
            log(text)
    names = {job.name for job in jobs}
    session.jobs.tidy(*(folder for folder in folders if folder.name in names))
    return jobs
