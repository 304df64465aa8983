"""Wait for the end of a job: look at its folder often, ask the backend seldom."""

from __future__ import annotations

import gc
import math
import time
from typing import TYPE_CHECKING

from ...errors import Diagnostic, InterruptedWaitError, NotFoundError
from ...monitor.poll import open_job
from ...monitor.waits import SETTLED_SECONDS, advice, sentence, waits_by_journal
from ...monitor.watching.job_files import needs_answer
from ...state.shared_files import time_written
from ..output.console import log
from ..output.views import format_time
from ..progress.shown import ShownProgress
from .asking import BY_A_PERSON, interval
from .fetching import Fetcher
from .refresh import monitor_lock, refresh

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ...monitor.poll import View
    from ...monitor.waits import Wait
    from ...state.job_folder import JobFolder
    from ...state.records import JobRole

TICK = 0.5
MAX_INTERVAL = 10.0


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


class _Progress:
    """Say why a job waits, once for each reason; to wait for one's turn is one reason, whatever Slurm calls it.

    A reason that comes again is not said more than once in a while: Slurm's words come and go.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._last: frozenset[object] = frozenset()
        self._told: dict[frozenset[object], float] = {}

    def report(self, found: Sequence[Wait], since: int | None) -> None:
        """Say it if it is not what was said last; that nothing is known now has no effect."""
        other = frozenset((wait.role_names, wait.backend_reason) for wait in found if wait.kind != "turn")
        reasons: frozenset[object] = other or frozenset(["turn"])
        now = time.monotonic()
        if not found or reasons == self._last or now - self._told.get(reasons, -math.inf) < SETTLED_SECONDS:
            return
        self._last, self._told[reasons] = reasons, now
        log(f"{self._name} waits, since {format_time(since)}: {sentence(found)}")
        log(f"what helps: {advice(found)}")


def wait_for_end(
    folder: JobFolder,
    *,
    max_age: float | None = None,
    shortest: float = TICK,
    between: Callable[[], object] | None = None,
    tasks: Sequence[tuple[JobRole, int]] = (),
) -> View:
    """Return how the job ended. `between`, which prints, is called about twice a second meanwhile.

    A terminal that is standard error shows how far the job is, unless `between` prints there what the tasks print.

    The logs of `tasks` are brought here meanwhile, where the job is at a login node that is not this machine.

    The backend is asked every `max_age` seconds at most, as often as the site says where that is None.

    A backend that does not answer is waited for. Raises `InterruptedWaitError` on Ctrl-C, and `NotFoundError`
    for a job of which nobody knows anything any more.
    """
    try:
        fetcher = Fetcher(folder, tasks)
        shown = ShownProgress(folder, between)
        try:
            return _wait_for_end(folder, interval() if max_age is None else max_age, shortest, fetcher, shown)
        finally:
            shown.line.clear()
    except KeyboardInterrupt:
        name = folder.name
        diagnostic = Diagnostic(
            code="E530",
            message=f"interrupted; job {name} goes on",
            hint=f"`paislurm wait {name}` waits again, `paislurm cancel {name}` ends it",
        )
        raise InterruptedWaitError(diagnostic) from None


def _wait_for_end(folder: JobFolder, max_age: float, shortest: float, fetcher: Fetcher, shown: ShownProgress) -> View:
    gc.enable()
    attempt = folder.history().attempt
    pace = Pace(shortest, folder.result(attempt), folder.journal)
    outage, state, progress, expects_news = "", "", _Progress(folder.name), False
    while True:
        age = min(max_age, BY_A_PERSON) if expects_news else max_age
        due = pace.due(time.monotonic())
        if due:
            shown.line.clear()
        if due and (view := _refresh(folder, progress, age)) is not None:
            expects_news = needs_answer(view)
            progress.report(view.job_status.waits, view.job_status.since)
            if view.job_status.state == state == "WAITING" and view.history.attempt == attempt:
                pace.settle(folder.journal)
            state = view.job_status.state
            if view.job_status.ended:
                fetcher(now=True)
                shown.between()
                shown.line.clear()
                return view
            if view.backend_error and not outage:
                log(f"still waiting: {view.backend_error}")
            elif outage and not view.backend_error:
                log(f"{view.history.backend_label} answers again")
            outage = view.backend_error
            if view.job_status.state == "UNKNOWN" and not view.backend_error and view.observation is None:
                raise _lost(view)
            if view.history.attempt != attempt:
                attempt = view.history.attempt
                pace = Pace(shortest, folder.result(attempt), folder.journal)
        fetcher()
        shown.between()
        time.sleep(TICK)


def _refresh(folder: JobFolder, progress: _Progress, max_age: float) -> View | None:
    """Return how the job stands; None while a monitor is at work, which writes down why it waits, and its end.

    A monitor may ask for the end of a job that was cancelled before it began minutes later: so who waits asks.
    """
    known = open_job(folder).history
    if known.cancelled is not None:
        return refresh(folder, max_age=min(max_age, BY_A_PERSON))
    if known.ended is None and _is_watched():
        progress.report(waits_by_journal(known), known.observed.happened_at if known.observed else None)
        return None
    return refresh(folder, max_age=max_age)


def _is_watched() -> bool:
    try:
        return monitor_lock().owned()
    except OSError:
        return False


def _lost(view: View) -> NotFoundError:
    hint = f"`paislurm cancel {view.folder.name}` gives it up, so that the name can be used again"
    return NotFoundError(Diagnostic(code="E523", message=view.job_status.reason, hint=hint))
