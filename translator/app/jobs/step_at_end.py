"""The monitor's work for one job, called by its batch script at its end."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ...monitor.poll import open_job
from .polling import SHARED

if TYPE_CHECKING:
    from ...monitor.loop import Monitor
    from ...state.job_folder import JobFolder
    from ...state.lock import Lock

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
