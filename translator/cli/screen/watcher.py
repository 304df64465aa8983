"""Poll jobs in background threads, so that keys work while Slurm or a file system is slow."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...app.jobs.live import JobLines, OpenJob
from ...app.jobs.waiting import TICK
from ...errors import PaislurmError
from .state import World, with_line
from .tasks import find

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ...app.session import Session
    from .state import State

LEAVE_SECONDS = 2.0
"""Seconds to wait for a thread at the end; it may be polling Slurm."""
PRESENT_SECONDS = 300.0
"""Seconds after a key during which the screen polls for fresh states."""
MEASURE_SECONDS = 60.0
"""Seconds between queries of usage; Slurm samples every 30 s. Source: slurm.conf(5), JobAcctGatherFrequency."""
REST = 3.0
"""The pause after a poll, as a multiple of its duration."""


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
        self._job: tuple[str, OpenJob] | None = None
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
            self._change(job=None)
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
                notes = self._jobs.notes(found.found)
                self._change(polled=True, jobs=tuple(found.found), notes=notes, problem=found.problem)
            return
        job = self._job
        if job is None or job[0] != state.job:
            job = self._job = (state.job, OpenJob(self._session, state.job, asked=self.world.polled))
        shown = job[1].poll(now, fresh=fresh)
        # The user may have left the page meanwhile.
        if shown is not None and self._job is job:
            jobs, problem = with_line(self.world.jobs, shown), shown.backend_error or ""
            self._change(polled=True, jobs=jobs, job=shown, progress=job[1].progress(), problem=problem)

    def _read_tail(self) -> None:
        shown, state, job = self.world.job, self._state, self._job
        if shown is not None and job is not None and shown.name == job[0] == state.job and state.page != "jobs":
            task = find(shown.tasks, state.task)
            self._change(tail=job[1].tail(task.name if task is not None else "", state.stream))

    def _is_used(self, now: float) -> bool:
        """Return whether a key was pressed recently."""
        return now - self._used_at < PRESENT_SECONDS

    def _measure(self) -> None:
        """Query the usage of the open job's tasks while the screen is in use."""
        shown, job, now = self.world.job, self._job, time.monotonic()
        if shown is None or job is None or shown.state != "RUNNING" or not self._is_used(now):
            return
        name, until = self._measured
        if name != shown.name or now >= until:
            self._measured = (shown.name, now + MEASURE_SECONDS)
            self._change(usages=(shown.name, job[1].usages()))

    def _change(self, **changes: Any) -> None:
        """Update the world, and wake the screen after a change."""
        with self._lock:
            before, self.world = self.world, replace(self.world, **changes)
        if before != self.world:
            self._wake()
