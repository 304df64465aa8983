"""Print the logs of one job, an attempt after the other: what is there, and what is new since."""

from __future__ import annotations

import time
from heapq import heappop, heappush
from itertools import groupby
from typing import TYPE_CHECKING

from ...app.jobs.logs.selection import attempt_logs

if TYPE_CHECKING:
    from ...app.jobs.logs.selection import LogSelection
    from ...app.session import Session
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from .log_printer import Printer


class JobLogs:
    """Print what the attempts of a job print, one after the other; of one attempt alone if it is named.

    `follows` if what comes is wanted too. Of several jobs, `name` stands before the name of each task, and `total` is
    how many tasks they all have.
    """

    def __init__(
        self,
        session: Session,
        folder: JobFolder,
        known: History,
        selection: LogSelection,
        printer: Printer,
        *,
        follows: bool,
        name: str = "",
        total: int = 0,
    ) -> None:
        self._session = session
        self._folder, self._known, self._selection, self._printer = folder, known, selection, printer
        self._follows, self._total = follows, total
        self._moves = selection.all_attempts or (follows and selection.attempt is None)
        self._before = f"{name} " if name else ""
        self._open(selection.first_attempt(known))

    def _open(self, attempt: int) -> None:
        self._attempt = attempt
        self._is_first = attempt <= self._known.attempt
        self._of = attempt_logs(self._folder, self._known, self._selection, attempt, may_come=not self._is_first)
        self._looks = Looks(len(self._of.logs), self._total)
        self._numbers = {(log.role, log.index): number for number, log in enumerate(self._of.logs)}
        if self._selection.all_attempts or attempt > self._known.attempt:
            self._session.say(f"attempt {attempt} of {self._folder.name}")

    def print_new(self, *, everything: bool = False) -> bool:
        """Print what is new, and go on to the next attempt when there is one; tell whether there was anything.

        Of thousands of tasks not all are looked at each time, unless `everything` is.
        """
        anything = False
        while self._moves and self._folder.attempt(self._attempt + 1).is_dir():
            anything |= self._print(everything=True)
            self._print_rest()
            self._printer.flush()
            self._open(self._attempt + 1)
        anything |= self._print(everything=everything)
        self._printer.flush()
        return anything

    def print_last(self) -> bool:
        """Print all that is new, and last lines that have no end; tell whether there was anything."""
        anything = self.print_new(everything=True)
        self._print_rest()
        self._printer.flush()
        return anything

    def _print(self, *, everything: bool) -> bool:
        now = time.monotonic()
        for role, folder in self._of.folders.items():
            for index in folder.look(afresh=everything):
                if (number := self._numbers.get((role, index))) is not None:
                    self._looks.wake(number, now)
        everything = everything or self._is_first
        numbers = range(len(self._of.logs)) if everything else self._looks.due(now)
        with_news = [number for number in numbers if self._print_task(number, now)]
        self._is_first = False
        return bool(with_news)

    def _print_task(self, number: int, now: float) -> bool:
        task_log, has_news = self._of.logs[number], False
        label = self._before + task_log.label
        for stream, pieces in groupby(task_log.read(), key=lambda piece: piece.stream):
            for piece in pieces:
                self._printer.write(label, piece, at_first=self._is_first)
            if self._is_first:
                self._printer.end_first(label, stream, whole=not self._follows)
            has_news = True
        if task_log.has_files():
            self._looks.looked(number, now, has_news=has_news)
        return has_news

    def _print_rest(self) -> None:
        for task_log in self._of.logs:
            self._printer.rest(self._before + task_log.label)


FEW = 200
"""So many logs are all looked at each time."""
A_TIME = 500
"""Of more logs so many at a time, those first that have waited longest."""
SHORTEST, LONGEST = 0.5, 10.0
"""Seconds between two looks at the same log: twice as long each time that it has nothing new."""


class Looks:
    """Keep for each of `count` logs when it is looked at next; times are those of a clock that never goes back.

    `total` is how many there are with those of other jobs that are looked at too.
    """

    def __init__(self, count: int, total: int = 0) -> None:
        self._few = max(count, total) <= FEW
        self._count = count
        self._times: dict[int, float] = {}
        self._pauses: dict[int, float] = {}
        self._queue: list[tuple[float, int]] = []

    def wake(self, number: int, now: float) -> None:
        """Look at a log the next time: it has another file."""
        self._put(number, now, 0.0)

    def due(self, now: float) -> list[int]:
        """Return the logs to look at now, in order."""
        if self._few:
            return list(range(self._count))
        found: set[int] = set()
        while self._queue and len(found) < A_TIME and self._queue[0][0] <= now:
            time, number = heappop(self._queue)
            if self._times.get(number) == time:
                found.add(number)
        return sorted(found)

    def looked(self, number: int, now: float, *, has_news: bool) -> None:
        """Remember that a log was looked at: soon again where it grows, later where it is quiet."""
        if not self._few:
            pause = 0.0 if has_news else min(LONGEST, max(SHORTEST, 2 * self._pauses.get(number, 0.0)))
            self._put(number, now + pause, pause)

    def _put(self, number: int, time: float, pause: float) -> None:
        self._times[number], self._pauses[number] = time, pause
        heappush(self._queue, (time, number))
