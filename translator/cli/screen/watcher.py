"""Poll jobs in background threads, so that keys work while Slurm or a file system is slow."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...app.jobs.changes import MIN_INTERVAL, JobLines
from ...app.jobs.job_sites import JobSites
from ...app.jobs.polling import BY_A_PERSON
from ...app.jobs.progress import progress_of, report_files
from ...app.jobs.refresh import refresh
from ...app.jobs.waiting import TICK, Pace
from ...app.usage import usages_of
from ...app.views.line import job_line
from ...errors import PaislurmError
from ...monitor.job_files import needs_answer
from .state import World, with_line
from .tails import Tails

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ...app.session import Session
    from ...monitor.poll import View
    from .state import State

LEAVE_SECONDS = 2.0
"""Seconds to wait for a thread at the end; it may be polling Slurm."""
PRESENT_SECONDS = 300.0
"""Seconds after a key during which the screen polls for fresh states."""
MEASURE_SECONDS = 60.0
"""Seconds between queries of usage; Slurm samples every 30 s. Source: slurm.conf(5), JobAcctGatherFrequency."""
REST = 3.0
"""The pause after a poll, as a multiple of its duration."""


class _JobPoll:
    """Polls of one job, when its files have changed or a poll is due; `asked`: Slurm was just polled."""

    def __init__(self, session: Session, name: str, *, asked: bool) -> None:
        self._session = session
        self._folder = session.store.find(name, user=session.user)
        self._pace = Pace(0)
        self._last: View | None = None
        self._sites = JobSites(session)
        self._later = self._sites.interval()
        self._max_age = self._later if asked else BY_A_PERSON

    def poll(self, now: float, *, fresh: bool) -> View | None:
        """Return the state of the job; None without a change. `fresh` as in `JobLines`."""
        if not self._pace.due(now):
            return None
        if self._last is not None:
            soon = needs_answer(self._last) or (fresh and self._last.job_status.state == "WAITING")
            self._max_age = min(BY_A_PERSON, self._later) if soon else self._later
        view = refresh(self._session, self._folder, max_age=self._max_age)
        self._later = self._sites.of(view.history).poll_interval
        folder, attempt = view.folder, view.history.attempt
        if view != self._last:
            paths = (folder.journal, folder.result(attempt), *report_files(folder, attempt))
            self._pace = Pace(MIN_INTERVAL, *paths)
            self._pace.due(now)
        self._last = view
        return view


class Watcher:
    """Keep the `world` of the current page up to date, and call `wake` after each change."""

    def __init__(self, session: Session, names: Collection[str], state: State, wake: Callable[[], None]) -> None:
        self._session = session
        self.world = World()
        self.messages: list[str] = []
        self.error: BaseException | None = None
        self._state = state
        self._wake = wake
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._news = threading.Event()
        self._jobs = JobLines(session, names)
        self._job: tuple[str, _JobPoll] | None = None
        self._tails = Tails(session)
        self._used_at = time.monotonic()
        self._measured = ("", 0.0)
        self._polls = (self._poll, self._read_tail, self._measure)
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start polling."""
        for poll in self._polls:
            self._start(partial(self._repeat, poll))

    def poll_once(self) -> World:
        """Poll once and return the world; raise PaislurmError on failure."""
        for poll in self._polls:
            poll()
        return self.world

    def aim(self, state: State) -> None:
        """Set the current page. The data of a page that was left is dropped."""
        self._state, before, self._used_at = state, self._state, time.monotonic()
        if state.page == "jobs" and before.page != "jobs":
            self._job = None
            self._change(view=None)
        if (state.page == "jobs", state.job) != (before.page == "jobs", before.job):
            self._news.set()

    def run(self, work: Callable[[], str]) -> None:
        """Run slow work in a thread, and show its result as a message."""

        def do() -> None:
            try:
                said = work()
            except PaislurmError as error:
                said = error.words
            except OSError as error:
                said = str(error)
            self.messages.append(said)
            self._job = None
            self._news.set()
            self._wake()

        self._start(do)

    def close(self) -> None:
        """Stop the threads; do not wait long for one that is polling Slurm."""
        self._over.set()
        self._news.set()
        until = time.monotonic() + LEAVE_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _repeat(self, poll: Callable[[], None]) -> None:
        while not self._over.is_set():
            began = time.monotonic()
            try:
                poll()
            except PaislurmError as error:
                self._change(problem=error.words)
            except OSError as error:
                self._change(problem=str(error))
            except Exception as error:  # noqa: BLE001 - the screen ends with it
                self.error = error
                self._wake()
                return
            took = time.monotonic() - began
            if poll == self._poll:
                self._news.wait(max(TICK, REST * took))
                self._news.clear()
            else:
                self._over.wait(max(TICK, REST * took))

    def _poll(self) -> None:
        """Poll the open job, or all jobs."""
        state, now = self._state, time.monotonic()
        fresh = self._is_used(now)
        if state.page == "jobs":
            found = self._jobs.poll(now, fresh=fresh)
            if found is not None:
                self._change(polled=True, jobs=tuple(found.found), problem=found.problem)
            return
        job = self._job
        if job is None or job[0] != state.job:
            job = self._job = (state.job, _JobPoll(self._session, state.job, asked=self.world.polled))
        view = job[1].poll(now, fresh=fresh)
        # The user may have left the page meanwhile.
        if view is not None and self._job is job:
            progress = None if view.job_status.ended else progress_of(view.folder, view.history, view.tasks)
            line = job_line(view)
            jobs = with_line(self.world.jobs, line)
            self._change(polled=True, jobs=jobs, line=line, view=view, progress=progress, problem=view.backend_error)

    def _read_tail(self) -> None:
        view, state = self.world.view, self._state
        if view is not None and view.folder.name == state.job and state.page != "jobs":
            self._change(tail=self._tails.read(view, state))

    def _is_used(self, now: float) -> bool:
        """Return whether a key was pressed recently."""
        return now - self._used_at < PRESENT_SECONDS

    def _measure(self) -> None:
        """Query the usage of the open job's tasks while the screen is in use."""
        view, now = self.world.view, time.monotonic()
        if view is None or view.job_status.state != "RUNNING" or not self._is_used(now):
            return
        job, until = self._measured
        if job != view.folder.name or now >= until:
            self._measured = (view.folder.name, now + MEASURE_SECONDS)
            try:
                found = usages_of(self._session, view)
            except PaislurmError:
                found = ()
            self._change(usages=(view.folder.name, found))

    def _change(self, **changes: Any) -> None:
        """Update the world, and wake the screen after a change."""
        with self._lock:
            before, self.world = self.world, replace(self.world, **changes)
        if before != self.world:
            self._wake()
