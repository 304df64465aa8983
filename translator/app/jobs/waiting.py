"""Wait for the ends of jobs: look at their folders often, ask the backend seldom."""

from __future__ import annotations

import gc
import math
import time
from typing import TYPE_CHECKING, Protocol

from ...errors import Diagnostic, InterruptedWaitError, NotFoundError, WaitTimeoutError
from ...monitor.poll import open_job
from ...monitor.waits import waits_by_journal
from ...monitor.watching.job_files import needs_answer
from ...plural import some_of, verb
from ...state.shared_files import time_written
from .asking import BY_A_PERSON
from .fetching import Fetcher
from .job_sites import JobSites
from .refresh import monitor_lock, refresh
from .told import ToldAttempts, ToldWaits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ...monitor.poll import View
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...state.records import JobRole
    from ..session import Session

FIRST_TICK, TICK = 0.05, 0.5
"""Seconds between two looks at files: few at first, since a job that runs at once may print or end at once."""
MAX_INTERVAL = 10.0
NAMED = 4
"""So many jobs are named for which the time was too short; the others are counted."""


class Pace:
    """Say when to look: at once, at growing intervals, and at once when one of the files that are signs is new."""

    def __init__(self, shortest: float, *watched_paths: Path) -> None:
        self._shortest = shortest
        self._pause = shortest
        self._next = 0.0
        self._watched_paths = watched_paths
        self._written = [time_written(sign) for sign in watched_paths]

    def due(self, now: float) -> bool:
        """Tell whether to ask now; if so, the next time is later."""
        written = [time_written(sign) for sign in self._watched_paths]
        if written != self._written:
            self._written, self._pause, self._next = written, self._shortest, now
        if now < self._next:
            return False
        self._next = now + self._pause
        self._pause = min(MAX_INTERVAL, self._pause * 1.5)
        return True

    def settle(self, own: Path) -> None:
        """Take what a look itself has written into one of the signs for no sign: nothing has happened."""
        self._written[self._watched_paths.index(own)] = time_written(own)


def wait_for_end(
    session: Session,
    folder: JobFolder,
    *,
    max_age: float | None = None,
    shortest: float = TICK,
    between: Callable[[], object] | None = None,
    tasks: Sequence[tuple[JobRole, int]] = (),
    quiet: bool = False,
    progress: Progress | None = None,
) -> View:
    """Return how the job ended. `between`, which prints, is called twice a second meanwhile, at first more often.

    Why the job waits is told, and without `quiet` each attempt that ends before the last one.

    `progress` shows how far the job is, where it is given.

    The logs of `tasks` are brought here meanwhile, where the job is at a login node that is not this machine.

    The backend is asked every `max_age` seconds at most, as often as the site says where that is None.

    A backend that does not answer is waited for. Raises `InterruptedWaitError` on Ctrl-C, and `NotFoundError`
    for a job of which nobody knows anything any more.
    """
    [end] = wait_for_ends(
        session,
        [folder],
        max_age=max_age,
        shortest=shortest,
        between=between,
        tasks=tasks,
        quiet=quiet,
        progress=progress,
    )
    if isinstance(end, NotFoundError):
        raise end
    return end


def wait_for_ends(
    session: Session,
    folders: Sequence[JobFolder],
    *,
    first: bool = False,
    max_age: float | None = None,
    shortest: float = TICK,
    between: Callable[[], object] | None = None,
    tasks: Sequence[tuple[JobRole, int]] = (),
    told: Callable[[View], object] = lambda _: None,
    quiet: bool = False,
    timeout: float | None = None,
    progress: Progress | None = None,
) -> list[View | NotFoundError]:
    """Return how jobs ended, in their order, as `wait_for_end` does; an error for a job of which nobody knows anything.

    With `first` that is when the first has ended, and of those alone that have. `told` is called for each as it ends.
    Raises `WaitTimeoutError` if that takes longer than `timeout` seconds.
    """
    until = math.inf if timeout is None else time.monotonic() + timeout
    sites = JobSites(session)
    gc.enable()
    ends: dict[str, View | NotFoundError] = {}
    tick = FIRST_TICK
    try:
        # Who shows what tasks print says between two attempts that another one begins.
        attempts = [ToldAttempts(session, folder.name, quiet=quiet, starts=between is None) for folder in folders]
        waiting = [
            _Waiter(session, folder, sites if max_age is None else max_age, shortest, tasks, progress, told_attempts)
            for folder, told_attempts in zip(folders, attempts, strict=True)
        ]
        while waiting:
            for waiter in list(waiting):
                end = waiter.look()
                if end is not None:
                    waiting.remove(waiter)
                    ends[waiter.name] = end
                    if not isinstance(end, NotFoundError):
                        told(end)
                else:
                    waiter.fetch()
            _show_news(between, progress, len(ends))
            if first and ends:
                break
            if waiting:
                if time.monotonic() >= until:
                    raise _time_is_up([waiter.name for waiter in waiting], len(folders), timeout)
                time.sleep(tick)
                tick = min(TICK, 2 * tick)
    except KeyboardInterrupt:
        raise _interrupted([folder.name for folder in folders if folder.name not in ends]) from None
    finally:
        if progress:
            progress.clear()
    return [ends[folder.name] for folder in folders if folder.name in ends]


def known_ends(ends: Sequence[View | NotFoundError]) -> list[View]:
    """Return how jobs ended that were waited for; NotFoundError names all of which nobody knows anything any more."""
    lost = [diagnostic for end in ends if isinstance(end, NotFoundError) for diagnostic in end.diagnostics]
    if lost:
        raise NotFoundError(lost)
    return [end for end in ends if not isinstance(end, NotFoundError)]


def _interrupted(names: Sequence[str]) -> InterruptedWaitError:
    words = " ".join(names)
    which, them = (f"job {words} goes", "it") if len(names) == 1 else (f"{len(names)} jobs go", "them")
    hint = f"`paislurm wait {words}` waits again, `paislurm cancel {words}` ends {them}"
    return InterruptedWaitError(Diagnostic(code="E530", message=f"interrupted; {which} on", hint=hint))


def _time_is_up(names: Sequence[str], number: int, timeout: float | None) -> WaitTimeoutError:
    which = names[0] if number == 1 else f"{some_of(names, NAMED)} of {number} jobs"
    message = f"{which} {verb(len(names), 'has', 'have')} not ended within {timeout} s"
    return WaitTimeoutError(Diagnostic(code="E533", message=message, hint="the same command waits again"))


def _show_news(between: Callable[[], object] | None, progress: Progress | None, ended: int) -> None:
    """Print what there is to print, and then how far the jobs are."""
    if between is not None:
        if progress:
            progress.clear()
        between()
    if progress:
        progress.show(ended)


class Progress(Protocol):
    """What shows how far jobs are, and goes away before anything else is printed."""

    def show(self, ended: int) -> None:
        """Show how far the jobs are, of which so many have ended."""

    def clear(self) -> None:
        """Take away what is shown."""


class _Waiter:
    """Wait for the end of one job: it looks when it is time to."""

    def __init__(
        self,
        session: Session,
        folder: JobFolder,
        max_age: float | JobSites,
        shortest: float,
        tasks: Sequence[tuple[JobRole, int]],
        progress: Progress | None,
        attempts: ToldAttempts,
    ) -> None:
        self._session = session
        self._progress, self._attempts = progress, attempts
        known = folder.history()
        self._folder, self._shortest = folder, shortest
        self._max_age = max_age.of(known).poll_interval if isinstance(max_age, JobSites) else max_age
        self.fetch = Fetcher(session, folder, tasks)
        self._waits = ToldWaits(session, folder.name)
        self._outage, self._state, self._expects_news = "", "", False
        self._follow(known.attempt)

    @property
    def name(self) -> str:
        """The name of the job's folder."""
        return self._folder.name

    def look(self) -> View | NotFoundError | None:
        """Return how the job ended; None while it has not, and an error once nobody knows anything of it."""
        age = min(self._max_age, BY_A_PERSON) if self._expects_news else self._max_age
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
        self._expects_news = needs_answer(view)
        self._waits.report(view.job_status.waits, view.job_status.since)
        if view.job_status.state == self._state == "WAITING" and view.history.attempt == self._attempt:
            self._pace.settle(self._folder.journal)
        self._state = view.job_status.state
        if view.job_status.ended:
            self.fetch(now=True)
            return view
        self._tell_outage(view)
        if view.job_status.state == "UNKNOWN" and not view.backend_error and view.observation is None:
            return _lost(view)
        if view.history.attempt != self._attempt:
            self._follow(view.history.attempt)
        return None

    def _follow(self, attempt: int) -> None:
        """Begin to watch the files of an attempt."""
        self._attempt = attempt
        self._pace = Pace(self._shortest, self._folder.result(attempt), self._folder.journal)

    def _tell_outage(self, view: View) -> None:
        if view.backend_error and not self._outage:
            self._session.say(f"still waiting: {view.backend_error}")
        elif self._outage and not view.backend_error:
            self._session.say(f"{view.history.backend_label} answers again")
        self._outage = view.backend_error


def _refresh(session: Session, folder: JobFolder, known: History, told: ToldWaits, max_age: float) -> View | None:
    """Return how the job stands; None while a monitor is at work, which writes down why it waits, and its end.

    A monitor may ask for the end of a job that was cancelled before it began minutes later: so who waits asks.
    """
    if known.cancelled is not None:
        return refresh(session, folder, max_age=min(max_age, BY_A_PERSON))
    if known.ended is None and _is_watched(session):
        told.report(waits_by_journal(known), known.observed.happened_at if known.observed else None)
        return None
    return refresh(session, folder, max_age=max_age)


def _is_watched(session: Session) -> bool:
    try:
        return monitor_lock(session).owned()
    except OSError:
        return False


def _lost(view: View) -> NotFoundError:
    hint = f"`paislurm cancel {view.folder.name}` gives it up, so that the name can be used again"
    return NotFoundError(Diagnostic(code="E523", message=view.job_status.reason, hint=hint))
