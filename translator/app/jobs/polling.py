"""How often commands poll Slurm: at once for interactive commands, rarely for commands that wait."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from paislurm.backends.registry import OF_THIS_SLURM

from ...monitor.poll import open_job
from ...monitor.polling.call_log import HOUR, retry_times, room_at
from ...monitor.polling.shared_results import PollResult, SharedPollResults, ask_now

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from paislurm.backends.base import JobId

    from ...files.lock import Lock
    from ...monitor.loop import Monitor
    from ...monitor.polling.shared_results import Ask
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ..session import Session
    from .job_sites import JobSites

BY_A_PERSON = 15.0
"""The oldest poll result that an interactive command shows, in seconds."""
SHARED = (*OF_THIS_SLURM, "ssh")
"""Backends whose poll results a user's processes share. The others are cheap to poll."""


def poll_at_most_every(
    session: Session,
    max_age: float,
    others: Callable[[str], tuple[Collection[JobId], Collection[str]]] = lambda _: ((), ()),
) -> Ask:
    """Return a function that polls a backend, also for `others`, unless a poll result of `max_age` seconds exists."""

    def ask(name: str, ids: Collection[JobId], tags: Collection[str]) -> PollResult:
        if not _is_shared(name):
            return ask_now(lambda: session.backend(name), ids, tags, session.now())
        return _shared(session, name).ask(ids, tags, max_age, lambda: others(name))

    return ask


def new_shared_result(session: Session, name: str) -> PollResult | None:
    """Return a new poll result of another process of the user, else None."""
    return _shared(session, name).news() if _is_shared(name) else None


def when_room(session: Session, known: History, sites: JobSites) -> int:
    """Return when the hourly limit permits the next attempt, 0 for now; the call log has those of the last hour."""
    if not _is_shared(known.backend):
        return 0
    now = session.clock()
    most = sites.most_attempts(known)
    return room_at(retry_times(session.call_log.calls(now - HOUR)), now, most)


def _shared(session: Session, name: str) -> SharedPollResults:
    if name not in session.shared_poll_results:
        folder = session.monitor_folder
        folder = folder if name == "slurm" else folder / name
        session.shared_poll_results[name] = SharedPollResults(lambda: session.backend(name), folder, session.lock_owner)
    return session.shared_poll_results[name]


def _is_shared(name: str) -> bool:
    return name.partition(":")[0] in SHARED


TRIES = 20
"""Seconds to wait for another process's lock; the job's nodes are occupied meanwhile."""
MAX_AHEAD = 3600
"""Seconds by which a retry is submitted early, with a start time: Slurm waits instead of a process."""
MAX_AGE = 1.0
"""The oldest poll result in seconds. Slurm is polled only for a lost node."""


def ahead(backend_name: str) -> int:
    """Return how many seconds early an attempt can be submitted to a backend."""
    return MAX_AHEAD if backend_name in SHARED else 0


def take_step(folder: JobFolder, monitor: Monitor, lock: Lock) -> bool:
    """Do a monitor's work for one job once the lock is free; return whether it was done.

    Return False if another process has already done it, or holds the lock for too long.
    """
    for attempt in range(TRIES):
        if attempt:
            time.sleep(1)
        with lock.taken() as mine:
            if mine:
                with suppress(OSError):
                    # Another process has taken the lock, or it cannot be written.
                    monitor.step(only=folder)
                    monitor.finish()
                return True
        if lock.problem or not _is_due(folder):
            break
    return False


def _is_due(folder: JobFolder) -> bool:
    """Return whether no process has recorded the result of the last attempt yet."""
    known = open_job(folder).history
    return known.ended is None and (known.retry is not None or folder.result(known.attempt).exists())
