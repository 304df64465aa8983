"""A step of the monitor with one job, which its batch script takes at its own end."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ...monitor.poll import open_job
from .asking import SHARED

if TYPE_CHECKING:
    from ...monitor.loop import Monitor
    from ...state.job_folder import JobFolder
    from ...state.lock import Lock

TRIES = 20
"""Seconds for which another process may hold the lock: the nodes of the job wait for this one."""
MAX_AHEAD = 3600
"""Seconds by which a retry is submitted before its time, so that no process has to wait for it: Slurm does."""
MAX_AGE = 1.0
"""Seconds: so old an answer of Slurm may be. It is asked only for a node that was lost."""


def ahead(backend_name: str) -> int:
    """Return how many seconds before its time a backend takes an attempt."""
    return MAX_AHEAD if backend_name in SHARED else 0


def take_step(folder: JobFolder, monitor: Monitor, lock: Lock) -> bool:
    """Take a step with one job as soon as nobody else is at work; tell whether that came to be.

    It has not where another process has done what was due, nor where one is at work for long.
    """
    for attempt in range(TRIES):
        if attempt:
            time.sleep(1)
        with lock.taken() as mine:
            if mine:
                with suppress(OSError):
                    # That the lock is another's by now, or cannot be written.
                    monitor.step(only=folder)
                    monitor.finish()
                return True
        if lock.problem or not _is_due(folder):
            break
    return False


def _is_due(folder: JobFolder) -> bool:
    """Tell whether nobody has drawn a conclusion from the result of the last attempt."""
    known = open_job(folder).history
    return known.ended is None and (known.retry is not None or folder.result(known.attempt).exists())
