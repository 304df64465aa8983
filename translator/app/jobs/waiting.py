"""Wait for the ends of jobs: read their folders often, poll the backend rarely."""

from __future__ import annotations

import gc
import math
import time
from contextlib import suppress
from itertools import islice, repeat
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...errors import Diagnostic, InterruptedWaitError, NotFoundError, WaitTimeoutError
from ...files.names import STEPS
from ...files.shared_files import time_written
from ...monitor.explained_waits import waits_by_journal
from ...monitor.job_files import needs_answer
from ...monitor.poll import open_job
from ...monitor.reconcile import needs_user
from ...plural import some_of, verb
from ..job_view import job_view
from ..log_reading import Fetcher
from .job_sites import JobSites
from .polling import BY_A_PERSON
from .refresh import monitor_lock, refresh
from .reported import ReportedAttempts, ReportedWaits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ...monitor.facts import View
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...state.journal_records import JobRole
    from ...view.jobs import JobView
    from ..session import Session

FIRST_TICK, TICK, EAGER = 0.05, 0.5, 40
"""Seconds between two checks of files: few at first, because a job may start, print or end at once.

If they print, so many come often, at first and after each new output.
"""
MAX_INTERVAL = 10.0
CUT_SECONDS, MAX_LOGS = 120, 500
"""Seconds for which a cut is followed by polls of a waiting process, and the number of logs that may show it."""
NAMED = 4
"""Most unfinished jobs that a timeout message names; the others are counted."""


class Pace:
    """The times of polls: at once, at growing intervals, and after each change of a watched file."""

    def __init__(self, shortest: float, *watched_paths: Path) -> None:
        self._shortest = shortest
        self._pause = shortest
        self._next = 0.0
        self._watched_paths = watched_paths
        self._written = [time_written(sign) for sign in watched_paths]

    def due(self, now: float) -> bool:
        """Return whether a poll is due; if so, schedule the next one."""
        written = [time_written(sign) for sign in self._watched_paths]
        if written != self._written:
            self._written, self._pause, self._next = written, self._shortest, now
        if now < self._next:
            return False
        self._next = now + self._pause
        self._pause = min(MAX_INTERVAL, self._pause * 1.5)
        return True

    def settle(self, own: Path) -> None:
        """Ignore our own write to a watched file."""
        self._written[self._watched_paths.index(own)] = time_written(own)


def wait_for_ends(
    session: Session,
    folders: Sequence[JobFolder],
    *,
    first: bool = False,
    max_age: float | None = None,
    shortest: float = TICK,
    between: Callable[[], bool] | None = None,
    tasks: Sequence[tuple[JobRole, int]] = (),
    reported: Callable[[JobView], object] = lambda _: None,
    explain: bool = True,
    quiet: bool = False,
    timeout: float | None = None,
    progress: Progress | None = None,
) -> list[JobView | NotFoundError]:
    """Wait for jobs and return how they ended, in their order; an error for a job that the backend has forgotten.

    With `first`, return the ended jobs after the first end. `reported` is called with each job that ends; `explain` as
    in `job_view`. `between` may print, and returns whether it did; it is called twice a second, at first and after
    output more often. Events report why a job waits, and unless `quiet` each retry. The logs of `tasks` are fetched.

    The backend is polled at most every `max_age` seconds; None means the site's interval. If it does not answer, the
    wait continues. Raises InterruptedWaitError on Ctrl-C, and WaitTimeoutError after `timeout` seconds.
    """
    until = time.monotonic() + (math.inf if timeout is None else timeout)
    pauses = _Pauses(JobSites(session) if max_age is None else max_age, shortest, explain)
    gc.enable()
    ends: dict[str, JobView | NotFoundError] = {}
    ticks = _ticks(0 if between is None else EAGER)
    try:
        # A command that shows logs reports the next attempt itself.
        attempts = [ReportedAttempts(session, folder.name, quiet=quiet, starts=between is None) for folder in folders]
        waiting = [
            _Waiter(session, folder, pauses, Fetcher(session, folder, tasks), progress, reported_attempts)
            for folder, reported_attempts in zip(folders, attempts, strict=True)
        ]
        while waiting:
            for waiter in list(waiting):
                end = waiter.poll()
                if end is not None:
                    waiting.remove(waiter)
                    ends[waiter.name] = end
                    if not isinstance(end, NotFoundError):
                        reported(end)
                else:
                    waiter.fetch()
            if _show_news(between, progress, len(ends)):
                ticks = _ticks(EAGER)
            if first and ends:
                break
            if waiting:
                if time.monotonic() >= until:
                    raise _time_is_up([waiter.name for waiter in waiting], len(folders), timeout)
                time.sleep(next(ticks))
    except KeyboardInterrupt:
        raise _interrupted([folder.name for folder in folders if folder.name not in ends]) from None
    finally:
        if progress:
            progress.clear()
    return [ends[folder.name] for folder in folders if folder.name in ends]


def _ticks(eager: int) -> Iterator[float]:
    """Yield the seconds before each look: `eager` short ones, then longer ones."""
    yield from repeat(FIRST_TICK, eager)
    tick = FIRST_TICK
    while True:
        yield tick
        tick = min(TICK, 2 * tick)


def known_ends(ends: Sequence[JobView | NotFoundError]) -> list[JobView]:
    """Return the ends of jobs. Raises NotFoundError with all forgotten jobs."""
    lost = [diagnostic for end in ends if isinstance(end, NotFoundError) for diagnostic in end.diagnostics]
    if lost:
        raise NotFoundError(lost)
    return [end for end in ends if not isinstance(end, NotFoundError)]


def _interrupted(names: Sequence[str]) -> InterruptedWaitError:
    words = " ".join(names)
    which, them = (f"job {words} continues", "it") if len(names) == 1 else (f"{len(names)} jobs continue", "them")
    hint = f"wait again with `paislurm wait {words}`, or cancel {them} with `paislurm cancel {words}`"
    return InterruptedWaitError(Diagnostic(code="E530", message=f"interrupted; {which}", hint=hint))


def _time_is_up(names: Sequence[str], number: int, timeout: float | None) -> WaitTimeoutError:
    which = names[0] if number == 1 else f"{some_of(names, NAMED)} of {number} jobs"
    message = f"{which} {verb(len(names), 'has', 'have')} not ended within {timeout} s"
    return WaitTimeoutError(Diagnostic(code="E533", message=message, hint="run the same command to wait again"))


def _show_news(between: Callable[[], bool] | None, progress: Progress | None, ended: int) -> bool:
    """Print new output, then the progress. Return whether there was new output."""
    if progress and between is not None:
        progress.clear()
    anything = between is not None and between()
    if progress:
        progress.show(ended)
    return anything


class Progress(Protocol):
    """A display of progress that is cleared before other output."""

    def show(self, ended: int) -> None:
        """Show the progress of jobs and the number of `ended` ones."""

    def clear(self) -> None:
        """Clear the display."""


class _Pauses(NamedTuple):
    """The seconds after which a poll result is too old, or the profiles that state them, and those between checks.

    `explain` as in `job_view`.
    """

    max_age: float | JobSites
    shortest: float
    explain: bool


class _Waiter:
    """The wait for one job, with polls when they are due."""

    def __init__(
        self,
        session: Session,
        folder: JobFolder,
        pauses: _Pauses,
        fetch: Fetcher,
        progress: Progress | None,
        attempts: ReportedAttempts,
    ) -> None:
        self._session, self.fetch = session, fetch
        self._progress, self._attempts = progress, attempts
        known = folder.history()
        self._folder, self._shortest, self._explain = folder, pauses.shortest, pauses.explain
        sites = pauses.max_age
        self._max_age = sites.of(known).poll_interval if isinstance(sites, JobSites) else sites
        self._waits = ReportedWaits(session, folder.name)
        self._outage, self._state, self._expects_change = "", "", False
        self._follow(known.attempt)

    @property
    def name(self) -> str:
        """The name of the job's folder."""
        return self._folder.name

    def poll(self) -> JobView | NotFoundError | None:
        """Return how the job ended; None before its end, an error if the backend has forgotten it."""
        age = min(self._max_age, BY_A_PERSON) if self._expects_change else self._max_age
        if not self._pace.due(time.monotonic()):
            return None
        if self._progress:
            self._progress.clear()
        known = open_job(self._folder).history
        self._attempts.report(known)
        view = _refresh(self._session, self._folder, known, self._waits, age)
        if view is None:
            return None
        self._attempts.report(view.history)
        self._expects_change = needs_answer(view)
        self._waits.report(view.job_status.waits, view.job_status.since)
        if view.job_status.state == self._state == "WAITING" and view.history.attempt == self._attempt:
            self._pace.settle(self._folder.journal)
        self._state = view.job_status.state
        if view.job_status.ended:
            self.fetch(now=True)
            return job_view(self._session, view, explain=self._explain)
        self._tell_outage(view)
        if needs_user(view):
            return _lost(view)
        if view.history.attempt != self._attempt:
            self._follow(view.history.attempt)
        return None

    def _follow(self, attempt: int) -> None:
        """Start to watch the files of an attempt."""
        self._attempt = attempt
        self._pace = Pace(self._shortest, self._folder.result(attempt), self._folder.journal)

    def _tell_outage(self, view: View) -> None:
        if view.backend_error and not self._outage:
            self._session.say(f"still waiting: {view.backend_error}")
        elif self._outage and not view.backend_error:
            self._session.say(f"{view.history.backend_label} answers again")
        self._outage = view.backend_error


def _refresh(
    session: Session, folder: JobFolder, known: History, reported: ReportedWaits, max_age: float
) -> View | None:
    """Return the state of the job; None while a monitor runs, because it records reasons and the end.

    A monitor may poll only minutes later for a job that was cancelled before its start, or that was cut off without a
    result, so the waiting process polls for it.
    """
    if known.cancelled is not None or shows_cut(folder, known.attempt, session.now()):
        return refresh(session, folder, max_age=min(max_age, BY_A_PERSON))
    if known.ended is None and _is_watched(session):
        reported.report(waits_by_journal(known), known.observed.happened_at if known.observed else None)
        return None
    return refresh(session, folder, max_age=max_age)


def shows_cut(folder: JobFolder, attempt: int, now: int) -> bool:
    """Return whether srun or Slurm has written into a log of an attempt a moment ago, as at an end from outside."""
    logs = [folder.batch_log(attempt)]
    with suppress(OSError):
        logs += islice((folder.attempt(attempt) / STEPS).iterdir(), MAX_LOGS)
    written = (time_written(log) // 10**9 for log in logs if log.is_file() and log.stat().st_size)
    return any(abs(now - time) < CUT_SECONDS for time in written)


def _is_watched(session: Session) -> bool:
    try:
        return monitor_lock(session).owned()
    except OSError:
        return False


def _lost(view: View) -> NotFoundError:
    hint = f"to use the name again, give the job up with `paislurm cancel {view.folder.name}`"
    return NotFoundError(Diagnostic(code="E523", message=view.job_status.reason, hint=hint))
