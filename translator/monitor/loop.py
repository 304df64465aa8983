"""The monitor's loop: check files every few seconds, and poll backends rarely, once for all of a user's jobs."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from paislurm.backends.base import LOCAL, JobId
from paislurm.backends.slurm.job_states import Phase, phase

from ..plural import attempt_name
from ..state.history import History
from ..state.job_folder import JobFolder
from .attempt import again_at
from .folder_watch import FolderWatch
from .job_files import is_nearly_spent, may_fail_to_begin, needs_answer
from .job_site import with_problem
from .job_status import RESULT_LAG, is_anothers
from .poll import open_job
from .polling.shared_results import NOT_ASKED, asking
from .reconcile import needs_user, reconcile
from .verdict import REUSED_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from ..state.job_folder import Store
    from .facts import View
    from .notify import NotificationSender
    from .polling.shared_results import PollResult
    from .reconcile import Dependencies

CHECK_SECONDS, MAX_CHECK_SECONDS = 1.0, 5.0
"""Seconds between two checks of files: the minimum, or more if checks cost too much CPU time."""
CPU_PART = 0.55 / 3600
"""The CPU time of file checks as a share of the elapsed time. Checks and steps together use about 1 s an hour."""
WAKING = 80e-6
"""CPU seconds for one sleep and wake-up."""
CHECKS_IN_AVERAGE = 10
"""The number of checks over which their cost is averaged."""
POLL_SLACK = 1.0
"""Seconds to wait beyond the interval: another process's poll result may come just when the next poll is due."""
JITTER = 0.1
"""The largest random delay of a poll, as a share of the interval."""
DEPENDENCY_CHECK_SECONDS = 15
"""Seconds between two checks of a job that waits for another job: this monitor may not watch that other job."""
NEWS_POLL_SECONDS = 5.0
"""Seconds until a poll if files show that the backend has news; the time doubles each time."""
_ALL = "/"
"""The name of the folder of all jobs in the watch; new jobs appear there. No job has this name."""


class Monitor:
    """Watch all of a user's jobs. `say` logs events, one line each.

    `tidy_up` is called in each step with all jobs, to tidy old ones.
    """

    def __init__(
        self,
        store: Store,
        dependencies: Dependencies,
        sender: NotificationSender,
        say: Callable[[str], None],
        tidy_up: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._dependencies = dependencies
        self._sender = sender
        self._say = say
        self._tidy_up = tidy_up
        self._opened: dict[str, tuple[tuple[int, int, int], View]] = {}
        self._finished: dict[str, tuple[int, int, int]] = {}
        self._logged: dict[str, str] = {}
        self._views: dict[str, View] = {}
        self._poll_results: dict[str, PollResult] = {}
        self._backends: set[str] = set()
        self._ignored: set[str] = set()
        self._watch = FolderWatch()
        self._cost = 0.0
        self._has_news = False
        self._elapsed = 0.0
        """Seconds since the last poll."""
        self._interval = 0.0
        """Seconds between polls: the shortest interval in the profiles of active jobs."""
        self._due: dict[str, float] = {}
        """By job, the value of `_elapsed` at which to check the job again."""

    def step(self, only: JobFolder | None = None) -> bool:
        """Run a step for all jobs, or for one. Return whether any job still needs a monitor.

        Raises OSError if another process owns the lock.
        """
        self._views, self._ignored, self._due, self._elapsed = {}, set(), {}, 0.0
        jobs = self._jobs() if only is None else self._job_and_dependents(only)
        living = [job.history for job in jobs if job.history.ended is None]
        self._interval = min(map(self._interval_of, living), default=self._interval_of(History()))
        if living and all(known.backend == LOCAL for known in living):
            # Such a poll asks no Slurm, and no file tells of lost processes.
            self._interval = min(self._interval, NEWS_POLL_SECONDS)
        self._process(jobs, fresh=True)
        if only is None:
            self._tidy_up()
            self._forget_removed()
        return bool(self._views)

    def _forget_removed(self) -> None:
        """Forget jobs that were removed, and the records of finished jobs: a monitor may live for months."""
        names = {folder.name for folder in self._store.all()}
        self._finished = {name: stamp for name, stamp in self._finished.items() if name in names}
        self._logged = {name: text for name, text in self._logged.items() if name in names}
        names -= self._finished.keys()
        self._opened = {name: job for name, job in self._opened.items() if name in names}

    def _process(self, jobs: list[View], *, fresh: bool) -> None:
        """Run a step for some jobs. With `fresh`, poll the backends; otherwise use the last poll results."""
        jobs = [job for job in jobs if job.history.job]
        views = reconcile(jobs, self._dependencies, self._ask if fresh else self._recall, tasks=False)
        now = self._dependencies.clock()
        self._sender.deliver(filter(self._dependencies.owns, views), now)
        for view in views:
            name = view.folder.name
            self._log_change(with_problem(view, lambda known: self._dependencies.site_of(known).problem))
            if self._needs_monitor(view):
                self._views[name] = view
                if not fresh:
                    # The job may be new. A fresh step has used the intervals of all jobs.
                    self._interval = min(self._interval, self._interval_of(view.history))
                if is_anothers(view.observation):
                    # Only a poll after that time ends it.
                    self._interval = min(self._interval, REUSED_SECONDS)
                self._schedule_check(view, now)
            elif view.history.ended is None:
                self._ignored.add(name)
            elif not (self._dependencies.owns(view) and self._sender.wanted(view)):
                with suppress(OSError):
                    self._finished[name] = _stamp(view.folder)
        self._due = {name: due for name, due in self._due.items() if name in self._views}
        if any(view.history.ended is not None for view in views):
            self._due |= {name: self._elapsed for name, view in self._views.items() if view.history.is_held_back}
        self._has_news = any(needs_answer(view) or may_fail_to_begin(view, now) for view in self._views.values())
        self._backends = {view.history.backend for view in self._views.values()}
        paths = ((name, _watched_path(view)) for name, view in self._views.items())
        self._watch.keep([(_ALL, self._store.jobs), *paths])

    def _interval_of(self, known: History) -> float:
        return self._dependencies.site_of(known).poll_interval

    def _ask(self, name: str, ids: Collection[JobId], tags: Collection[str]) -> PollResult:
        dependencies, interval = self._dependencies, self._interval
        if dependencies.poll_at_most_every is not None:
            ask = dependencies.poll_at_most_every(min(NEWS_POLL_SECONDS, interval) if self._has_news else interval)
        else:
            ask = asking(dependencies.backend, dependencies.clock())
        self._poll_results[name] = ask(name, ids, tags)
        return self._poll_results[name]

    def _recall(self, name: str, _: Collection[JobId], __: Collection[str]) -> PollResult:
        return self._poll_results.get(name, NOT_ASKED)

    def _take_over_poll_results(self) -> set[str]:
        """Use poll results of other processes. Return the names of the jobs that they change."""
        names: set[str] = set()
        for backend in self._backends:
            answer = self._dependencies.new_shared_result(backend)
            if answer is not None and not answer.error:
                self._poll_results[backend] = answer
                names |= {name for name, view in self._views.items() if _is_change(answer, backend, view)}
        return names

    def needs_monitor(self) -> bool:
        """Return whether any job needs a monitor, without a poll.

        Journals that were read without the lock are read again: on a network file system, the attributes of a changed
        file may stay the same for a while. Source: nfs(5), acregmax.
        """
        found = any(job.history.ended is None and job.folder.name not in self._ignored for job in self._jobs())
        self._opened.clear()
        return found

    def _jobs(self) -> list[View]:
        """Return the jobs that have not ended or have notifications due."""
        found = (self._job(folder) for folder in self._store.all())
        return [job for job in found if job is not None]

    def _job_and_dependents(self, only: JobFolder) -> list[View]:
        """Return a job, and the jobs that wait for others, perhaps for this one."""
        own = self._job(only)
        held_back = [job for job in self._jobs() if job.history.is_held_back and job.folder != only]
        return ([own] if own is not None else []) + held_back

    def _job(self, folder: JobFolder) -> View | None:
        with suppress(OSError):
            stamp = _stamp(folder)
            if self._finished.get(folder.name) == stamp:
                return None
            known = self._opened.get(folder.name)
            if known is None or known[0] != stamp:
                known = (stamp, open_job(folder))
                self._opened[folder.name] = known
            return known[1]
        return None

    def _needs_monitor(self, view: View) -> bool:
        """Return whether a job needs a monitor. A job that the backend has lost may need its user instead."""
        if not self._dependencies.owns(view):
            return False
        if view.history.ended is not None:
            return self._sender.wanted(view)
        return not needs_user(view)

    def _log_change(self, view: View) -> None:
        """Log what has changed for a job."""
        text = f"{view.job_status.state} {attempt_name(view.history.attempt)} job {view.history.job_id or '-'}"
        words = view.backend_error or view.job_status.reason
        line = f"{view.folder.name}: {text}" + (f": {words}" if words else "")
        news = f"{text} {view.backend_error} {view.room_at is not None}"
        if self._logged.get(view.folder.name) != news:
            self._logged[view.folder.name] = news
            self._say(line)
            for what in view.read_errors:
                self._say(f"{view.folder.name}: {what}")

    def run(
        self,
        *,
        sleep: Callable[[float], None] = time.sleep,
        spent: Callable[[], bool] = is_nearly_spent,
    ) -> bool:
        """Run steps until no job needs a monitor, or another process owns the lock.

        Poll the backends once per interval. If files show that a backend has news, poll after SOON seconds, then after
        twice as long. Return True if this process has used most of its CPU time and another one must continue.
        """
        soon = NEWS_POLL_SECONDS
        while self._dependencies.holds_lock():
            hurried = self._has_news
            if not self.step():
                break
            factor = random.uniform(1, 1 + JITTER)  # noqa: S311 - spread the polls of all users
            if self._watch_files(factor, soon, sleep, spent):
                return True
            soon = min(2 * soon, self._interval) if hurried else NEWS_POLL_SECONDS
        return False

    def finish(self) -> None:
        """Wait for running notification programs."""
        if self._sender.busy:
            self._sender.finish(self._dependencies.clock())

    def _watch_files(
        self, factor: float, soon: float, sleep: Callable[[float], None], spent: Callable[[], bool]
    ) -> bool:
        """Check files until the next poll is due or no job is left. Return whether the CPU time is spent.

        A poll is due after the interval, or after `soon` seconds if a backend has news, both multiplied by `factor`.
        """
        while self._views:
            seconds = min(soon, self._interval) if self._has_news else self._interval
            if self._elapsed >= seconds * factor + POLL_SLACK:
                break
            if spent():
                return True
            began = time.thread_time()
            names = self._watch.changed()
            names |= self._take_over_poll_results()
            self._cost += (time.thread_time() - began + WAKING - self._cost) / CHECKS_IN_AVERAGE
            pause = min(MAX_CHECK_SECONDS, max(CHECK_SECONDS, self._cost / CPU_PART))
            if self._due:
                names |= {name for name, due in self._due.items() if due <= self._elapsed}
            if names:
                self._process(self._jobs_of(names), fresh=False)
            sleep(pause)
            self._elapsed += pause
        return False

    def _jobs_of(self, names: set[str]) -> list[View]:
        """Return the watched jobs with these names, and new jobs if the folder of all jobs changed."""
        views = [self._views.pop(name) for name in names if name in self._views]
        folders = [JobFolder(path=view.folder.path) for view in views]
        if _ALL in names:
            observation = self._views.keys() | self._ignored
            folders += [folder for folder in self._store.all() if folder.name not in observation | names]
        jobs = (self._job(folder) for folder in folders)
        return [job for job in jobs if job is not None]

    def _schedule_check(self, view: View, now: int) -> None:
        """Schedule the next check of a job, if it is due even without a change in the job's folder."""
        known, observation = view.history, view.observation
        self._due.pop(view.folder.name, None)
        if known.ended is not None:
            wait = 0 if self._sender.busy else None
        elif known.is_held_back:
            # The end of another job wakes one that waits for its place alone.
            later = None if view.room_at is None else view.room_at - now
            wait = DEPENDENCY_CHECK_SECONDS if known.dependencies else later
        elif known.refused is not None:
            wait = max(again_at(known, known.refused), view.room_at or 0) - now
        elif known.retry is not None:
            wait = max(known.retry.retry_at, view.room_at or 0) - now
        else:
            wait = RESULT_LAG + 1 if observation is not None and phase(observation.state) is Phase.ENDED else None
        if wait is not None:
            self._due[view.folder.name] = self._elapsed + max(CHECK_SECONDS, wait)


def _is_change(answer: PollResult, backend: str, view: View) -> bool:
    """Return whether a poll result changes what is known of a job."""
    known = view.history
    if known.backend != backend:
        return False
    job_id = JobId(known.job_id)
    differs = job_id in answer.asked and answer.observations.get(job_id) != view.observation
    return differs or answer.found.get(known.tag) is not None


def _watched_path(view: View) -> Path:
    """Return the path that changes with a job's events: its attempt's folder, or its journal between attempts."""
    known = view.history
    is_running = known.job_id and known.retry is None and known.ended is None
    return view.folder.attempt(known.attempt) if is_running else view.folder.journal


def _stamp(folder: JobFolder) -> tuple[int, int, int]:
    """Return a value that changes with the journal."""
    status = folder.journal.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns
