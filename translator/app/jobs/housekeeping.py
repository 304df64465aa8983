"""Periodic work of a monitor: tidy the folders of ended jobs, and remove old jobs."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from paislurm.backends.registry import is_remote

from ...errors import PaislurmError
from ...files.private import make_private, touch
from ...files.shared_files import time_written
from ...monitor.poll import open_job
from ...state.folder_removal import finish_removals
from ...state.tidy import is_tidy, tidy
from .refresh import is_own
from .removing import ended_at, remove_job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...state.job_folder import JobFolder
    from ..session import Session

HOUR, DAY = 3600, 86400
CLEANING_SECONDS, CLEANING_TICK = 2.0, 0.05
TIDIED, REMOVED = "tidied", "removed"
"""Files in the monitor's folder; their times record the last run."""


def tidy_up(session: Session, remove_after: int | None, say: Callable[[str], None]) -> None:
    """Tidy ended jobs at most once an hour; remove jobs `remove_after` seconds after their end at most once a day."""
    with suppress(OSError, PaislurmError):
        if is_due(session, TIDIED, HOUR):
            finish_removals(session.store.jobs)
            for folder in session.store.all():
                tidy_own(session, folder)
    with suppress(OSError, PaislurmError):
        if remove_after is not None and is_due(session, REMOVED, DAY):
            for folder in session.store.all():
                if not _remove_old(session, folder, remove_after, say):
                    # Do not wait for an unreachable login node again; try on another day.
                    break


def tidy_own(session: Session, folder: JobFolder) -> bool:
    """Tidy the folder of the user's own job; return False if it must be tried again."""
    if is_tidy(folder):
        return True
    with suppress(OSError):
        job = open_job(folder)
        if is_own(session, job) and not is_remote(job.history.backend):
            return tidy(job.folder, job.history, session.now())
    return True


def tidy_what_has_just_ended(session: Session, folders: Iterable[JobFolder]) -> None:
    """Tidy the folders of jobs that have just ended, after a pause for the clean-up of their scripts."""
    deadline = time.monotonic() + CLEANING_SECONDS
    left = list(folders)
    while left := [folder for folder in left if not tidy_own(session, folder)]:
        if time.monotonic() > deadline:
            return
        time.sleep(CLEANING_TICK)


def _remove_old(session: Session, folder: JobFolder, remove_after: int, say: Callable[[str], None]) -> bool:
    """Remove a job `remove_after` seconds after its end; return False if files are left.

    The time of its journal is that of its end, or later.
    """
    with suppress(OSError):
        if session.now() - time_written(folder.journal) // 10**9 < remove_after:
            return True
        job = open_job(folder)
        end = ended_at(job)
        if end is not None and session.now() - end >= remove_after and is_own(session, job):
            try:
                left = remove_job(session, job)
            except PaislurmError as error:
                say(f"{folder.name}: not removed: {error.diagnostics[0].message}")
            else:
                say(f"{folder.name}: removed because of `jobs.removeAfter` of the site profile{left and f'; {left}'}")
                return not left
    return True


def is_due(session: Session, name: str, seconds: int) -> bool:
    """Return whether the last run was at least `seconds` ago; if so, record a run now."""
    file = session.monitor_folder / name
    if session.now() - time_written(file) // 10**9 < seconds:
        return False
    make_private(file.parent)
    touch(file)
    return True
