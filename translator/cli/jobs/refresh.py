"""Look at jobs as every command does that shows one: if no monitor is at work, a step of one is taken first."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...monitor.poll import open_job, survey
from ...monitor.reconcile import Means, step
from ...state.lock import Lock
from ...state.shared_files import SharedFiles
from ..context import backend, clock, monitor_folder, user_name
from ..ownership import is_private

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...monitor.poll import Opened, View
    from ...state.job_folder import JobFolder


def monitor_lock() -> Lock:
    """Return the lock that one monitor of this user's jobs holds at a time."""
    owner = f"{user_name()}@{os.uname().nodename} process {os.getpid()}\n"
    return Lock(SharedFiles(monitor_folder()), owner)


def means(lock: Lock) -> Means:
    """Return what a step under this lock works with: the file server's time, which all monitors share."""
    return Means(backend=backend, clock=lock.now, held=lock.held, own=is_own)


def is_own(job: Opened | View) -> bool:
    """Tell whether the job is this user's alone: those of others, or that others can write to, are left alone."""
    return job.history.user == user_name() and is_private((job.folder.path, job.folder.journal))


def look_at(folder: JobFolder) -> View:
    """Return how a job stands now; OSError if it has no journal that can be read."""
    return look_at_all([open_job(folder)])[0]


def look_at_all(jobs: Sequence[Opened]) -> list[View]:
    """Return how jobs stand now, with one question to each backend."""
    lock = monitor_lock()
    if any(job.history.ended is None and is_own(job) for job in jobs):
        with lock.taken() as mine:
            if mine:
                # What was read before the lock was taken may be old by now.
                return step([open_job(job.folder) for job in jobs], means(lock))
    return survey(jobs, backend, clock())
