"""The monitor's loop: one step after the other with all of a user's jobs, often while much happens, seldom else."""

from __future__ import annotations

import math
import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ..state.shared_files import time_written
from .poll import Opened, open_job
from .reconcile import is_unknown, reconcile

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..state.job_folder import JobFolder, Store
    from .notify import NotificationSender
    from .poll import View
    from .reconcile import Dependencies

MIN_INTERVAL = 2.0
GROWTH = 1.5
CHECKS_BETWEEN_POLLS = 4
"""How often it is looked, at least, whether something has happened between two steps."""
WATCHED = 100
"""Jobs whose results are looked for between two steps."""


class Monitor:
    """Look after all of a user's jobs. `say` is told what happens, in one line each."""

    def __init__(
        self, store: Store, dependencies: Dependencies, sender: NotificationSender, say: Callable[[str], None]
    ) -> None:
        self._store = store
        self._means = dependencies
        self._sender = sender
        self._say = say
        self._known: dict[str, tuple[tuple[int, int, int], Opened]] = {}
        self._over: dict[str, tuple[int, int, int]] = {}
        self._said: dict[str, str] = {}
        self._views: list[View] = []
        self._left_alone: set[str] = set()
        self._fresh = True

    def step(self) -> bool:
        """Take a step with all jobs; tell whether anything is left to watch. OSError if the lock is another's."""
        views = reconcile([job for job in self._jobs() if job.history.job], self._means, tasks=False)
        now = self._means.clock()
        self._sender.deliver(filter(self._means.owns, views), now)
        self._fresh = False
        self._views, self._left_alone = [], set()
        for view in views:
            self._report(view)
            if self._is_left(view):
                self._views.append(view)
            elif view.history.ended is None:
                self._left_alone.add(view.folder.name)
            elif not (self._means.owns(view) and self._sender.wanted(view)):
                with suppress(OSError):
                    self._over[view.folder.name] = _stamp(view.folder)
        return bool(self._views)

    def left(self) -> bool:
        """Tell whether there is a job that the last step did not find to need no monitor; no backend is asked."""
        return any(job.history.ended is None and job.folder.name not in self._left_alone for job in self._jobs())

    def _jobs(self) -> list[Opened]:
        """Return the jobs that have not ended, or of which somebody is still to be told."""
        found: list[Opened] = []
        for folder in self._store.all():
            with suppress(OSError):
                stamp = _stamp(folder)
                if self._over.get(folder.name) == stamp:
                    continue
                known = self._known.get(folder.name)
                if known is None or known[0] != stamp:
                    known = (stamp, open_job(folder))
                    self._known[folder.name] = known
                found.append(known[1])
        return found

    def _is_left(self, view: View) -> bool:
        """Tell whether a job needs a monitor. Of one that nobody knows any more only its user can say what to do."""
        if not self._means.owns(view):
            return False
        if view.history.ended is not None:
            return self._sender.wanted(view)
        return not is_unknown(view)

    def _report(self, view: View) -> None:
        """Say what is new about a job; things are happening then."""
        text = f"{view.job_status.state} attempt {view.history.attempt} job {view.history.job_id or '-'}"
        words = view.backend_error or view.job_status.reason
        said = f"{view.folder.name}: {text}" + (f": {words}" if words else "")
        if self._said.get(view.folder.name) != f"{text} {view.backend_error}":
            self._said[view.folder.name] = f"{text} {view.backend_error}"
            self._fresh = True
            self._say(said)
            for what in view.read_errors:
                self._say(f"{view.folder.name}: {what}")

    def run(self, longest: float, *, sleep: Callable[[float], None] = time.sleep) -> None:
        """Take steps until nothing is left to watch, or the lock is another's."""
        pause = MIN_INTERVAL
        while self._means.holds_lock() and self.step():
            pause = MIN_INTERVAL if self._fresh else min(longest, pause * GROWTH)
            self._rest(pause * random.uniform(0.8, 1.2), sleep)  # noqa: S311 - so that not all monitors ask at once

    def finish(self) -> None:
        """Wait for the programs that are being told of events."""
        self._sender.finish(self._means.clock())

    def _rest(self, seconds: float, sleep: Callable[[float], None]) -> None:
        """Wait, but no longer than until a retry is due, a result is written or a job is submitted."""
        retries = (view.history.retry for view in self._views if view.history.ended is None)
        due = min((retry.retry_at for retry in retries if retry is not None), default=None)
        if due is not None:
            seconds = min(seconds, max(0.5, due - self._means.clock()))
        before = self._watched_paths()
        looks = max(CHECKS_BETWEEN_POLLS, math.ceil(seconds / MIN_INTERVAL))
        for _ in range(looks):
            if self._watched_paths() != before:
                return
            sleep(seconds / looks)

    def _watched_paths(self) -> list[int]:
        """Return what changes when something happens, without a question to any backend."""
        results = (view.folder.result(view.history.attempt) for view in self._views[:WATCHED])
        return [time_written(path) for path in (self._store.jobs, *results)]


def _stamp(folder: JobFolder) -> tuple[int, int, int]:
    """Return what changes with a journal."""
    status = folder.journal.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns
