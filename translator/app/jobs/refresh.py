"""Look at jobs as every command does that shows one: if no monitor is at work, a step of one is taken first."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from ...monitor.after import awaited
from ...monitor.job_site import with_problem
from ...monitor.poll import open_job, poll_jobs
from ...monitor.reconcile import Dependencies, held_up, reconcile
from ...monitor.watching.job_files import questions, read_files
from ...state.ended_jobs import EndedJob
from ...state.lock import Lock
from ...state.shared_files import SharedFiles
from ...state.tidying.tidy import is_tidy, tidy
from ..ownership import is_private
from .asking import BY_A_PERSON, overheard, seldom, when_room
from .job_sites import JobSites, missing_profile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paislurm.backends.base import JobId

    from ...monitor.asking.answer import Ask
    from ...monitor.poll import Opened, View
    from ...state.job_folder import JobFolder
    from ..session import Session


def monitor_lock(session: Session) -> Lock:
    """Return the lock that one monitor of this user's jobs holds at a time."""
    return Lock(SharedFiles(session.monitor_folder), session.process)


def dependencies(
    session: Session,
    lock: Lock,
    sites: JobSites,
    *,
    ask: Ask | None = None,
    seldom: Callable[[float], Ask] | None = None,
    ahead: Callable[[str], int] = lambda _: 0,
) -> Dependencies:
    """Return what a step under this lock works with: the file server's time, which all monitors share.

    `ask`, `seldom` and `ahead` as in Dependencies.
    """
    return Dependencies(
        backend=session.backend,
        clock=lock.now,
        holds_lock=lock.holds_lock,
        owns=partial(is_own, session),
        ask=ask,
        seldom=seldom,
        overheard=partial(overheard, session),
        room_at=partial(when_room, session, sites=sites),
        site_of=sites.of,
        ahead=ahead,
    )


def is_own(session: Session, job: Opened | View) -> bool:
    """Tell whether the job is this user's alone: those of others, or that others can write to, are left alone."""
    return job.history.user == session.user and is_private((job.folder.path, job.folder.journal))


def refresh(session: Session, folder: JobFolder, *, max_age: float = BY_A_PERSON) -> View:
    """Return how a job stands now; OSError if it has no journal that can be read. `max_age` as in `refresh_all`."""
    return refresh_all(session, [open_job(folder)], max_age=max_age)[0]


def refresh_all(session: Session, jobs: Sequence[Opened], *, max_age: float = BY_A_PERSON) -> list[View]:
    """Return how jobs stand now, by an answer of each backend that is at most `max_age` seconds old.

    The folders of jobs that ended a while ago are tidied.
    """
    views = _refreshed(session, jobs, max_age)
    views = [with_problem(view, partial(missing_profile, session)) if is_own(session, view) else view for view in views]
    for view in views:
        # Not by an end that only a monitor at work may write down: it judges by what is there.
        if view.history.ended is not None and not view.news and is_own(session, view) and not is_tidy(view.folder):
            tidy(view.folder, view.history, session.now())
    return views


def _refreshed(session: Session, jobs: Sequence[Opened], max_age: float) -> list[View]:
    lock, ask = monitor_lock(session), seldom(session, max_age, partial(everything, session))
    wanted, jobs, sites = len(jobs), with_awaited(jobs), JobSites(session)
    if any(job.history.ended is None and is_own(session, job) for job in jobs):
        with lock.taken() as mine:
            if mine:
                # What was read before the lock was taken may be old by now.
                return reconcile([open_job(job.folder) for job in jobs], dependencies(session, lock, sites, ask=ask))[
                    :wanted
                ]
    now = session.now()
    views = poll_jobs(jobs[:wanted], session.backend, now, ask)
    room = partial(when_room, session, sites=sites)
    return [held_up(view, now, room) if is_own(session, view) else view for view in views]


def with_awaited(jobs: Sequence[Opened]) -> list[Opened]:
    """Return jobs, and behind them those that they wait for to begin: nobody else may be about to see their ends."""
    found, names = [*jobs], {job.folder.name for job in jobs}
    for job in found:
        for each in awaited(job.folder, job.history) if job.history.is_held_back else ():
            if each.fulfilment == "unfulfilled" and each.folder is not None and each.folder.name not in names:
                with suppress(OSError):
                    found.append(open_job(each.folder))
                    names.add(each.folder.name)
    return found


def everything(session: Session, name: str) -> tuple[set[JobId], set[str]]:
    """Return what is to be asked of a backend for all of the user's jobs: so one answer is of use for every command."""
    jobs: list[Opened] = []
    for _, job in session.store.look():
        if not isinstance(job, EndedJob):
            with suppress(OSError):
                if job.read().ended is None:
                    jobs.append(open_job(job.folder))
    files = (read_files(job.folder, job.history, late=False) for job in jobs if is_own(session, job))
    return questions(files).get(name, (set(), set()))
