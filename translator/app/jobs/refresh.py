"""Poll jobs for commands that show them: lines at once, the rest when shown. Without a monitor, do its work first."""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...files.lock import Lock
from ...files.private import is_private
from ...files.shared_files import SharedFiles
from ...monitor.after import awaited
from ...monitor.job_files import questions, read_files
from ...monitor.job_site import with_problem
from ...monitor.job_status import JobStatus, tells_all
from ...monitor.poll import open_job, poll_jobs
from ...monitor.reconcile import Dependencies, Ledger, held_up, reconcile
from ...state.bad_nodes import MAX_REASON, BadNode, add, bad_nodes
from ...state.history import History
from ...state.job_folder import JobFolder
from ...state.journal_records import Ended, Retry
from ...state.tidy import is_tidy, tidy
from ...view.reasons import reason
from ..failed_task import failure_of
from ..job_view import job_line, job_views
from .job_sites import JobSites, missing_profile, warn_of_overdue_monitor
from .polling import BY_A_PERSON, new_shared_result, poll_at_most_every, when_room

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from paislurm.backends.base import JobId

    from ...monitor.facts import View
    from ...monitor.polling.shared_results import Ask
    from ...view.cost import AttemptUse
    from ...view.failure import JobFailure
    from ...view.jobs import JobView
    from ...view.states import State
    from ...view.task import TaskView, Usage
    from ..session import Session


def monitor_lock(session: Session) -> Lock:
    """Return the lock that allows only one monitor of this user's jobs at a time."""
    return Lock(SharedFiles(session.monitor_folder), session.lock_owner)


def dependencies(
    session: Session,
    lock: Lock,
    sites: JobSites,
    *,
    ask: Ask | None = None,
    poll_at_most_every: Callable[[float], Ask] | None = None,
    ahead: Callable[[str], int] = lambda _: 0,
) -> Dependencies:
    """Return the dependencies of a monitor's work under this lock, with the file server's time, which all share.

    `ask`, `poll_at_most_every` and `ahead` as in Dependencies.
    """
    return Dependencies(
        backend=session.backend,
        clock=lock.now,
        holds_lock=lock.holds_lock,
        owns=partial(is_own, session),
        ask=ask,
        poll_at_most_every=poll_at_most_every,
        new_shared_result=partial(new_shared_result, session),
        room_at=partial(when_room, session, sites=sites),
        site_of=sites.of,
        ahead=ahead,
        members=session.store.members,
        ledger=ledger(session),
    )


def is_own(session: Session, job: View) -> bool:
    """Return whether this user owns the job and nobody else can write to it; other jobs are only read."""
    return job.history.user == session.user and is_private((job.folder.path, job.folder.journal))


def refresh(session: Session, folder: JobFolder, *, max_age: float = BY_A_PERSON) -> View:
    """Return the state of a job. Raises OSError without a readable journal. `max_age` as in `refresh_all`."""
    return refresh_all(session, [open_job(folder)], max_age=max_age)[0]


def refresh_all(session: Session, jobs: Sequence[View], *, max_age: float = BY_A_PERSON) -> list[View]:
    """Return the states of jobs, with a poll result of each backend that is at most `max_age` seconds old.

    Raises FileNotFoundError if a job is removed meanwhile. The folders of jobs that ended some time ago are tidied.
    """
    views = refresh_remaining(session, jobs, max_age=max_age)
    gone = {job.folder.path for job in jobs} - {view.folder.path for view in views}
    if gone:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(min(gone)))
    return views


def refresh_remaining(session: Session, jobs: Sequence[View], *, max_age: float) -> list[View]:
    """As `refresh_all`, without jobs that are removed meanwhile."""
    views = [view for view in _refreshed(session, jobs, max_age) if not view.is_gone]
    views = [with_problem(view, partial(missing_profile, session)) if is_own(session, view) else view for view in views]
    for view in views:
        # Only a running monitor may record an end; this process judges by existing files.
        if view.history.ended is not None and not view.news and is_own(session, view) and not is_tidy(view.folder):
            tidy(view.folder, view.history, session.now())
    return views


def views_of(session: Session, folders: Iterable[JobFolder]) -> list[View]:
    """Return the states of the jobs in these folders, with one query for all."""
    return refresh_all(session, [open_job(folder) for folder in folders])


def say_doubts(session: Session, views: Sequence[View]) -> None:
    """Send events about unknown states of jobs and read errors."""
    if any(not view.job_status.ended for view in views):
        warn_of_overdue_monitor(session)
    for error in dict.fromkeys(view.backend_error for view in views if view.backend_error):
        session.say(f"these are the last known states: {error}")
    for view in views:
        which = f"{view.folder.name}: " if len(views) > 1 else ""
        for read_error in view.read_errors:
            session.say(f"warning: {which}{read_error}")


TRIES, PAUSE = 4, 0.5
"""How often an end that nobody has recorded is tried to be recorded, and the seconds between: a command has the lock
only for a moment."""


def _refreshed(session: Session, jobs: Sequence[View], max_age: float) -> list[View]:
    lock, ask = monitor_lock(session), poll_at_most_every(session, max_age, partial(everything, session))
    wanted, jobs, sites = len(jobs), with_awaited(session, jobs), JobSites(session)
    room = partial(when_room, session, sites=sites)
    views: list[View] = []
    unrecorded: list[bool] = []
    for tries_left in reversed(range(TRIES)):
        if any(job.history.ended is None and is_own(session, job) for job in jobs):
            with lock.taken() as mine:
                if mine:
                    # Data read before the lock was taken may be stale.
                    fresh = [open_job(job.folder) for job in jobs]
                    return reconcile(fresh, dependencies(session, lock, sites, ask=ask))[:wanted]
        views = poll_jobs(jobs[:wanted], session.backend, session.now(), ask)
        unrecorded = [not lock.problem and is_own(session, view) and _is_unrecorded(view) for view in views]
        if not any(unrecorded) or not tries_left:
            break
        time.sleep(PAUSE)
        jobs = [open_job(job.folder) for job in jobs]
    return [
        _without_end(view, lock.holder())
        if hidden
        else held_up(view, session.now(), room)
        if is_own(session, view)
        else view
        for view, hidden in zip(views, unrecorded, strict=True)
    ]


def _is_unrecorded(view: View) -> bool:
    """Return whether an end is neither recorded nor in the result: it must not be taken back once a user has seen it.

    The next poll may miss a report of the backend, and after a cancel, another process may still record the retry of a
    failed attempt.
    """
    known, status, result = view.history, view.job_status, view.result
    recorded = known.ended is not None and not any(isinstance(record, Ended) for record in view.news)
    is_in_result = result is not None and tells_all(result) and result.exit_code == status.code
    return status.ended and not recorded and not is_in_result


def _without_end(view: View, holder: str) -> View:
    """Return a view without its end: the owner of the lock, which has the same answer, must record it."""
    known = view.history
    state: State = "STOPPING" if known.cancelled is not None else "RUNNING" if known.job_id else "WAITING"
    why = reason("its end is not recorded", end=view.job_status.why, holder=holder)
    return replace(view, job_status=JobStatus.so_far(state, why))


def with_awaited(session: Session, jobs: Sequence[View]) -> list[View]:
    """Return jobs, their dependencies, and the jobs that have the places for which they wait.

    No other process may record the ends of these.
    """
    found, names = [*jobs], {job.folder.name for job in jobs}
    groups: set[str] = set()
    for job in found:
        known = job.history
        awaits = awaited(job.folder, known) if known.is_held_back else ()
        folders = [each.folder for each in awaits if each.fulfilment == "unfulfilled" and each.folder is not None]
        if known.is_held_back and known.pace is not None and known.group not in groups:
            groups.add(known.group)
            members = session.store.members(known.user, known.group)
            folders += [JobFolder(path=session.store.jobs / name) for name, each in members if each.ended is None]
        for folder in folders:
            if folder.name not in names:
                with suppress(OSError):
                    found.append(open_job(folder))
                    names.add(folder.name)
    return found


def everything(session: Session, name: str) -> tuple[set[JobId], set[str]]:
    """Return the ids and tags of all of the user's jobs at a backend, so that every command can use one poll result."""
    jobs: list[View] = []
    for _, job in session.store.entries():
        if not isinstance(job, History):
            with suppress(OSError):
                if job.read().ended is None:
                    jobs.append(open_job(job.folder))
    files = (read_files(job, late=False) for job in jobs if is_own(session, job))
    return questions(files).get(name, (set(), set()))


def ledger(session: Session) -> Ledger:
    """Return the ledger for the monitor and `submit`. If it cannot be written, jobs go on."""

    def blame(known: History, record: Ended | Retry) -> None:
        nodes = [
            BadNode(
                happened_at=record.happened_at,
                cluster=known.cluster,
                node=node,
                reason=record.reason[:MAX_REASON],
                job=known.full_name,
                attempt=record.attempt,
            )
            for node in record.blamed_nodes
        ]
        with suppress(OSError):
            add(session.store.home, nodes)

    def read(known: History) -> Sequence[BadNode]:
        return bad_nodes(session.store.home, known.cluster) if known.retry_policy.avoid_most else ()

    return Ledger(read=read, add=blame)


class PolledJobs:
    """Polled jobs, the `groups` that selected some of them, and what was measured. Logs are read for shown jobs."""

    def __init__(
        self,
        session: Session,
        views: Sequence[View],
        groups: Mapping[str, Sequence[str]],
        uses: Sequence[Sequence[AttemptUse]],
        usages: Sequence[tuple[Usage, ...]],
    ) -> None:
        self._session, self._views = session, {view.folder.name: view for view in views}
        self.groups, self.uses, self.usages = groups, uses, usages
        self.lines = [job_line(view) for view in views]

    def with_tasks(self, chosen: Callable[[Sequence[TaskView]], Sequence[TaskView]]) -> PolledJobs:
        """Return the jobs that have chosen tasks, without groups and measurements."""
        return PolledJobs(self._session, [view for view in self._views.values() if chosen(view.tasks)], {}, (), ())

    def jobs(self, chosen: Callable[[Sequence[TaskView]], Sequence[TaskView]] = lambda tasks: tasks) -> list[JobView]:
        """Return how the jobs stand, with their chosen tasks."""
        return job_views(self._session, self._views.values(), self.uses, self.usages, chosen)

    def failure_of(self, name: str) -> JobFailure | None:
        """Return why a job failed, without the failed command; None if it has not failed."""
        return failure_of(self._session, self._views[name], locates=False)

    def say_doubts(self) -> None:
        """Send events about unknown states of jobs and read errors."""
        say_doubts(self._session, list(self._views.values()))
