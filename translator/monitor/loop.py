"""The monitor's loop: files are looked at each second, backends are asked seldom, for all of a user's jobs at once."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from paislurm.backends.base import JobId
from paislurm.backends.slurm.states import Phase, phase

from ..state.history import History
from ..state.job_folder import JobFolder
from .asking.answer import NOT_ASKED, asking
from .attempt import again_at
from .job_site import with_problem
from .job_status import RESULT_LAG
from .poll import Opened, open_job
from .reconcile import is_unknown, reconcile
from .watching.folder_watch import FolderWatch, is_nearly_spent
from .watching.job_files import may_fail_to_begin, needs_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from ..state.job_folder import Store
    from .asking.answer import Answer
    from .notify import NotificationSender
    from .poll import View
    from .reconcile import Dependencies

LOOK_SECONDS, MAX_LOOK_SECONDS = 1.0, 5.0
"""How often files are looked at: each second; less often where there are so many that this costs too much CPU time."""
CPU_PART = 0.55 / 3600
"""The part of its time that a monitor computes to look at files: a CPU second pays for an hour, steps included."""
WAKING = 80e-6
"""CPU seconds that it takes to sleep and to wake up."""
SMOOTH = 10
"""Looks by which it is told what one costs."""
LATE = 1.0
"""Seconds: an answer is as old as it may be when the next question is due."""
JITTER = 0.1
AFTER_SECONDS = 15
"""How often the jobs that one waits for are looked at, where it is not this monitor that sees their ends."""
SOON = 5.0
"""Seconds after which a backend is asked of which files say that it has something to tell; then twice as long, ..."""
_ALL = "/"
"""Stands for the folder of all jobs, in which new ones come to be; no job has this name."""


class Monitor:
    """Look after all of a user's jobs. `say` is told what happens, in one line each.

    `keep_house` is called at each step with all jobs, for those that ended long ago.
    """

    def __init__(
        self,
        store: Store,
        dependencies: Dependencies,
        sender: NotificationSender,
        say: Callable[[str], None],
        keep_house: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._means = dependencies
        self._sender = sender
        self._say = say
        self._keep_house = keep_house
        self._known: dict[str, tuple[tuple[int, int, int], Opened]] = {}
        self._over: dict[str, tuple[int, int, int]] = {}
        self._said: dict[str, str] = {}
        self._views: dict[str, View] = {}
        self._answers: dict[str, Answer] = {}
        self._backends: set[str] = set()
        self._left_alone: set[str] = set()
        self._watch = FolderWatch()
        self._cost = 0.0
        self._hurries = False
        self._elapsed = 0.0
        self._interval = 0.0
        """Seconds after which backends are asked again: as often as the profile of any living job says."""
        self._due: dict[str, float] = {}
        """When jobs are to be looked at again, in seconds `elapsed` since backends were asked."""

    def step(self, only: JobFolder | None = None) -> bool:
        """Take a step with all jobs, or with one; tell whether any of them is left to watch.

        OSError if the lock is another's.
        """
        self._views, self._left_alone, self._due, self._elapsed = {}, set(), {}, 0.0
        jobs = self._jobs() if only is None else self._job_and_what_waits(only)
        living = (job.history for job in jobs if job.history.ended is None)
        self._interval = min(map(self._interval_of, living), default=self._interval_of(History()))
        self._take(jobs, fresh=True)
        if only is None:
            self._keep_house()
        return bool(self._views)

    def _take(self, jobs: list[Opened], *, fresh: bool) -> None:
        """Take a step with some jobs; unless the answers are to be `fresh`, the last ones do, and none is asked for."""
        jobs = [job for job in jobs if job.history.job]
        views = reconcile(jobs, self._means, self._ask if fresh else self._recall, tasks=False)
        now = self._means.clock()
        self._sender.deliver(filter(self._means.owns, views), now)
        for view in views:
            name = view.folder.name
            self._report(with_problem(view, lambda known: self._means.site_of(known).problem))
            if self._is_left(view):
                self._views[name] = view
                if not fresh:
                    # It may be new. A fresh step has taken in the intervals of all jobs.
                    self._interval = min(self._interval, self._interval_of(view.history))
                self._plan(view, now)
            elif view.history.ended is None:
                self._left_alone.add(name)
            elif not (self._means.owns(view) and self._sender.wanted(view)):
                with suppress(OSError):
                    self._over[name] = _stamp(view.folder)
        self._due = {name: due for name, due in self._due.items() if name in self._views}
        if any(view.history.ended is not None for view in views):
            self._due |= {name: self._elapsed for name, view in self._views.items() if view.history.is_held_back}
        self._hurries = any(needs_answer(view) or may_fail_to_begin(view, now) for view in self._views.values())
        self._backends = {view.history.backend for view in self._views.values()}
        paths = ((name, _watched_path(view)) for name, view in self._views.items())
        self._watch.keep([(_ALL, self._store.jobs), *paths])

    def _interval_of(self, known: History) -> float:
        return self._means.site_of(known).poll_interval

    def _ask(self, name: str, ids: Collection[JobId], tags: Collection[str]) -> Answer:
        means, interval = self._means, self._interval
        if means.seldom is not None:
            ask = means.seldom(min(SOON, interval) if self._hurries else interval)
        else:
            ask = asking(means.backend, means.clock())
        self._answers[name] = ask(name, ids, tags)
        return self._answers[name]

    def _recall(self, name: str, _: Collection[JobId], __: Collection[str]) -> Answer:
        return self._answers.get(name, NOT_ASKED)

    def _overheard(self) -> set[str]:
        """Take over what backends have answered to other processes; return the names of the jobs that it changes."""
        names: set[str] = set()
        for backend in self._backends:
            answer = self._means.overheard(backend)
            if answer is not None and not answer.error:
                self._answers[backend] = answer
                names |= {name for name, view in self._views.items() if _is_news(answer, backend, view)}
        return names

    def left(self) -> bool:
        """Tell whether there is a job that the last step did not find to need no monitor; no backend is asked."""
        return any(job.history.ended is None and job.folder.name not in self._left_alone for job in self._jobs())

    def _jobs(self) -> list[Opened]:
        """Return the jobs that have not ended, or of which somebody is still to be told."""
        found = (self._job(folder) for folder in self._store.all())
        return [job for job in found if job is not None]

    def _job_and_what_waits(self, only: JobFolder) -> list[Opened]:
        """Return a job, and those that wait for the end of others: it may be this one's."""
        own = self._job(only)
        held_back = [job for job in self._jobs() if job.history.is_held_back and job.folder != only]
        return ([own] if own is not None else []) + held_back

    def _job(self, folder: JobFolder) -> Opened | None:
        with suppress(OSError):
            stamp = _stamp(folder)
            if self._over.get(folder.name) == stamp:
                return None
            known = self._known.get(folder.name)
            if known is None or known[0] != stamp:
                known = (stamp, open_job(folder))
                self._known[folder.name] = known
            return known[1]
        return None

    def _is_left(self, view: View) -> bool:
        """Tell whether a job needs a monitor. Of one that nobody knows any more only its user can say what to do."""
        if not self._means.owns(view):
            return False
        if view.history.ended is not None:
            return self._sender.wanted(view)
        return not is_unknown(view)

    def _report(self, view: View) -> None:
        """Say what is new about a job."""
        text = f"{view.job_status.state} attempt {view.history.attempt} job {view.history.job_id or '-'}"
        words = view.backend_error or view.job_status.reason
        said = f"{view.folder.name}: {text}" + (f": {words}" if words else "")
        news = f"{text} {view.backend_error} {view.room_at is not None}"
        if self._said.get(view.folder.name) != news:
            self._said[view.folder.name] = news
            self._say(said)
            for what in view.read_errors:
                self._say(f"{view.folder.name}: {what}")

    def run(
        self,
        *,
        sleep: Callable[[float], None] = time.sleep,
        spent: Callable[[], bool] = is_nearly_spent,
    ) -> bool:
        """Take steps until nothing is left to watch, or the lock is another's; backends are asked each `interval`.

        Sooner, where files say that a backend has something to tell: after SOON seconds, then after twice as many.
        Returns True where another process is to go on, because this one's CPU time is nearly `spent`.
        """
        soon = SOON
        while self._means.holds_lock():
            hurried = self._hurries
            if not self.step():
                break
            part = random.uniform(1, 1 + JITTER)  # noqa: S311 - so that not all ask at once
            if self._rest(part, soon, sleep, spent):
                return True
            soon = min(2 * soon, self._interval) if hurried else SOON
        return False

    def finish(self) -> None:
        """Wait for the programs that are being told of events."""
        self._sender.finish(self._means.clock())

    def _rest(self, part: float, soon: float, sleep: Callable[[float], None], spent: Callable[[], bool]) -> bool:
        """Look at files until backends are to be asked again, or nothing is left; tell whether CPU time is spent.

        They are asked after the interval, and after `soon` seconds where one has something to tell, both times `part`.
        """
        while self._views:
            seconds = min(soon, self._interval) if self._hurries else self._interval
            if self._elapsed >= seconds * part + LATE:
                break
            if spent():
                return True
            began = time.thread_time()
            names = self._watch.changed()
            names |= self._overheard()
            self._cost += (time.thread_time() - began + WAKING - self._cost) / SMOOTH
            pause = min(MAX_LOOK_SECONDS, max(LOOK_SECONDS, self._cost / CPU_PART))
            if self._due:
                names |= {name for name, due in self._due.items() if due <= self._elapsed}
            if names:
                self._take(self._jobs_of(names), fresh=False)
            sleep(pause)
            self._elapsed += pause
        return False

    def _jobs_of(self, names: set[str]) -> list[Opened]:
        """Return the jobs of these names that are looked after, and those that are new if the folder of all changed."""
        views = [self._views.pop(name) for name in names if name in self._views]
        folders = [JobFolder(path=view.folder.path) for view in views]
        if _ALL in names:
            seen = self._views.keys() | self._left_alone
            folders += [folder for folder in self._store.all() if folder.name not in seen | names]
        jobs = (self._job(folder) for folder in folders)
        return [job for job in jobs if job is not None]

    def _plan(self, view: View, now: int) -> None:
        """Note when a job is to be looked at though nothing in its folder changes."""
        known, seen = view.history, view.observation
        self._due.pop(view.folder.name, None)
        if known.ended is not None:
            wait = 0 if self._sender.busy else None
        elif known.is_held_back:
            wait = AFTER_SECONDS
        elif known.refused is not None:
            wait = max(again_at(known, known.refused), view.room_at or 0) - now
        elif known.retry is not None:
            wait = max(known.retry.retry_at, view.room_at or 0) - now
        else:
            wait = RESULT_LAG + 1 if seen is not None and phase(seen.state) is Phase.ENDED else None
        if wait is not None:
            self._due[view.folder.name] = self._elapsed + max(LOOK_SECONDS, wait)


def _is_news(answer: Answer, backend: str, view: View) -> bool:
    """Tell whether an answer of a backend differs from what is known of a job."""
    known = view.history
    if known.backend != backend:
        return False
    job_id = JobId(known.job_id)
    said = job_id in answer.asked and answer.observations.get(job_id) != view.observation
    return said or answer.found.get(known.tag) is not None


def _watched_path(view: View) -> Path:
    """Return what changes when something happens to a job: its attempt's folder, between attempts its journal."""
    known = view.history
    lives = known.job_id and known.retry is None and known.ended is None
    return view.folder.attempt(known.attempt) if lives else view.folder.journal


def _stamp(folder: JobFolder) -> tuple[int, int, int]:
    """Return what changes with a journal."""
    status = folder.journal.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns
