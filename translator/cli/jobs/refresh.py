"""Look at jobs as every command does that shows one: if no monitor is at work, a step of one is taken first."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...monitor.poll import open_job, poll_jobs
from ...monitor.reconcile import Dependencies, reconcile
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


def dependencies(lock: Lock) -> Dependencies:
    """Return what a step under this lock works with: the file server's time, which all monitors share."""
    return Dependencies(backend=backend, clock=lock.now, holds_lock=lock.holds_lock, owns=is_own)


def is_own(job: Opened | View) -> bool:
    """Tell whether the job is this user's alone: those of others, or that others can write to, are left alone."""
    return job.history.user == user_name() and is_private((job.folder.path, job.folder.journal))


def refresh(folder: JobFolder) -> View:
    """Return how a job stands now; OSError if it has no journal that can be read."""
    return refresh_all([open_job(folder)])[0]


def refresh_all(jobs: Sequence[Opened]) -> list[View]:
    """Return how jobs stand now, with one question to each backend."""
    lock = monitor_lock()
    if any(job.history.ended is None and is_own(job) for job in jobs):
        with lock.taken() as mine:
            if mine:
                # What was read before the lock was taken may be old by now.
                return reconcile([open_job(job.folder) for job in jobs], dependencies(lock))
    return poll_jobs(jobs, backend, clock())
