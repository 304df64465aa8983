"""Print the output of tasks, attempt by attempt: existing output once, or new output until the jobs have ended."""

from __future__ import annotations

import time
from heapq import heappop, heappush
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from ....plural import attempt_name
from ....state.task_reports import read_peers
from ....times import aware
from ....view.task import TaskView
from ...task_facts import FEW_PAGES, may_have_pages, web_pages
from .selection import STREAMS, attempt_logs
from .targets import bring_logs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....state.history import History
    from ....state.job_folder import JobFolder
    from ...session import Session
    from .selection import LogSelection, Stream
    from .targets import Target
    from .task_log import Piece


class JobLogs:
    """The output of a job's attempts, one after the other, or of one selected attempt.

    `follows` includes new output. With several jobs, `name` precedes the name of each task, and `total` is the number
    of all tasks.
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
        may_come = not self._is_first
        self._of = attempt_logs(self._session, self._folder, self._known, self._selection, attempt, may_come=may_come)
        self._schedule = ReadSchedule(len(self._of.logs), self._total)
        self._numbers = {(log.role, log.index): number for number, log in enumerate(self._of.logs)}
        if self._selection.all_attempts or attempt > self._known.attempt:
            self._session.say(f"{attempt_name(attempt)} of {self._folder.name}")

    def print_new(self, *, everything: bool = False) -> bool:
        """Print new output, and continue with the next attempt if any; return whether anything was printed.

        With thousands of tasks, each call reads only some, unless `everything` is set.
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
        """Print all new output and incomplete last lines; return whether anything was printed."""
        anything = self.print_new(everything=True)
        self._print_rest()
        self._printer.flush()
        return anything

    def _print(self, *, everything: bool) -> bool:
        now = time.monotonic()
        for role, folder in self._of.folders.items():
            for index in folder.refresh(afresh=everything):
                if (number := self._numbers.get((role, index))) is not None:
                    self._schedule.wake(number, now)
        everything = everything or self._is_first
        numbers = range(len(self._of.logs)) if everything else self._schedule.due(now)
        changed = [number for number in numbers if self._print_task(number, now)]
        self._is_first = False
        return bool(changed)

    def _print_task(self, number: int, now: float) -> bool:
        task_log, has_more = self._of.logs[number], False
        label = self._before + task_log.label
        for stream, pieces in groupby(task_log.read(), key=lambda piece: piece.stream):
            for piece in pieces:
                self._printer.write(label, piece)
            if not self._follows:
                self._printer.rest(label, stream)
            has_more = True
        if task_log.has_files():
            self._schedule.was_read(number, now, has_more=has_more)
        return has_more

    def _print_rest(self) -> None:
        for task_log in self._of.logs:
            for stream in STREAMS:
                self._printer.rest(self._before + task_log.label, stream)


FEW = 200
"""Most logs that are all read each time."""
A_TIME = 500
"""The number of logs read at a time if there are more, the longest waiting first."""
SHORTEST, LONGEST = 0.5, 10.0
"""Seconds between two reads of a log; doubled each time that it has nothing new."""


class ReadSchedule:
    """The schedule of the next read of each of `count` logs, in times of a monotonic clock.

    `total` includes the logs of other jobs.
    """

    def __init__(self, count: int, total: int = 0) -> None:
        self._few = max(count, total) <= FEW
        self._count = count
        self._times: dict[int, float] = {}
        self._pauses: dict[int, float] = {}
        self._queue: list[tuple[float, int]] = []

    def wake(self, number: int, now: float) -> None:
        """Read a log the next time, because it has a new file."""
        self._put(number, now, 0.0)

    def due(self, now: float) -> list[int]:
        """Return the logs to read now, in order."""
        if self._few:
            return list(range(self._count))
        found: set[int] = set()
        while self._queue and len(found) < A_TIME and self._queue[0][0] <= now:
            time, number = heappop(self._queue)
            if self._times.get(number) == time:
                found.add(number)
        return sorted(found)

    def was_read(self, number: int, now: float, *, has_more: bool) -> None:
        """Schedule the next read of a log: soon if it grows, later if not."""
        if not self._few:
            pause = 0.0 if has_more else min(LONGEST, max(SHORTEST, 2 * self._pauses.get(number, 0.0)))
            self._put(number, now + pause, pause)

    def _put(self, number: int, time: float, pause: float) -> None:
        self._times[number], self._pauses[number] = time, pause
        heappush(self._queue, (time, number))


def open_logs(
    session: Session, jobs: Sequence[Target], selection: LogSelection, printer: Printer, *, follows: bool
) -> list[JobLogs]:
    """Fetch the selected logs of jobs, and return them; `follows` as in JobLogs."""
    for job in jobs:
        bring_logs(session, job, selection)
    total = sum(len(job.tasks) for job in jobs)
    names = [job.folder.name.removeprefix(f"{session.user}~") if len(jobs) > 1 else "" for job in jobs]
    return [
        JobLogs(session, job.folder, job.known, selection, printer, follows=follows, name=name, total=total)
        for job, name in zip(jobs, names, strict=True)
    ]


class PageLines:
    """Report the web pages of an attempt once its files contain the addresses; nothing for a job without pages."""

    def __init__(self, session: Session, folder: JobFolder) -> None:
        self._session, self._folder = session, folder
        known = folder.history()
        self._roles = known.roles
        self._attempt = known.attempt
        self._is_due = known.ended is None and may_have_pages(folder)

    def print_new(self) -> None:
        """Report new pages."""
        while self._folder.attempt(self._attempt + 1).is_dir():
            self._attempt += 1
            self._is_due = may_have_pages(self._folder)
        peers = read_peers(self._folder.reports(self._attempt)) if self._is_due else {}
        if not peers:
            return
        self._is_due = False
        places = [
            TaskView(
                role=self._roles[role].name, index=index, task_attempt=0, state="RUNNING", started_at=aware(0),
                node_address=peer.address or None, ports_by_label=peer.ports,
            )
            for (role, index), peer in sorted(peers.items())
            if role < len(self._roles)
        ]  # fmt: skip
        for page in web_pages(self._folder, places)[:FEW_PAGES]:
            self._session.say(page.text)


class Printer(Protocol):
    """A printer of pieces of the tasks' streams; a label names the task."""

    def write(self, label: str, piece: Piece) -> None:
        """Print a piece."""
        ...

    def rest(self, label: str, stream: Stream) -> None:
        """Print the incomplete last line of a stream."""
        ...

    @property
    def flush(self) -> Callable[[], object]:
        """Flush the output."""
        ...


class LineTeller:
    """Call a function with a task's name, a stream and its new lines; an incomplete last line follows at the end."""

    def __init__(self, each: Callable[[str, Stream, Sequence[bytes]], object], flush: Callable[[], object]) -> None:
        self._each, self.flush = each, flush
        self._lines: dict[tuple[str, Stream], Lines] = {}

    def write(self, label: str, piece: Piece) -> None:
        """Pass on the complete lines."""
        lines = self._lines.setdefault((label, piece.stream), Lines())
        self._each(label, piece.stream, lines.add(piece.data))

    def rest(self, label: str, stream: Stream) -> None:
        """Pass on the incomplete last line of a stream."""
        if lines := self._lines.get((label, stream)):
            self._each(label, stream, lines.rest())


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
