"""Cancel a job: say in its journal that it is to end, and ask the backend; nothing is retried afterwards."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from paislurm.backends.base import JobId

from ...monitor.retry import STOPPED
from ...monitor.transition import abandoned
from ...state.records import Cancelled
from ..context import backend, clock, user_name
from ..ownership import check_own
from .refresh import refresh

if TYPE_CHECKING:
    from ...monitor.poll import View
    from ...state.job_folder import JobFolder

TRIES = 3
"""While one attempt is being cancelled, it may end and another one begin."""


def cancel(folder: JobFolder) -> tuple[str, View]:
    """Cancel a job and return what was done; BackendError if it could not be asked for."""
    check_own(folder, "cancel")
    view = refresh(folder)
    if view.job_status.ended:
        return f"{folder.name} has already ended: {view.job_status.state}", view
    if view.job_status.state == "UNKNOWN" and not view.backend_error and view.observation is None:
        known = view.history
        reason = f"given up by the user: {known.backend_label} does not know the job, and it left no result"
        view.folder.append(abandoned(known, clock(), STOPPED, reason))
        return f"{folder.name} is given up: {known.backend_label} does not know job {known.job_id}", refresh(folder)
    asked = ""
    for _ in range(TRIES):
        asked = _ask(view)
        view = refresh(folder)
        if view.job_status.ended or view.history.job_id in ("", asked):
            break
    if view.job_status.ended and not view.history.job_id:
        return f"{folder.name} is cancelled", view
    known = view.history
    which = f"job {known.job_id}" if asked else f"as soon as it is known whether it reached {known.backend_label}"
    return f"{folder.name} is being cancelled ({which})", view


def _ask(view: View) -> str:
    """Cancel the backend's job, if there is one, and write down that the job is to end; return the backend's id.

    Where there is none, the journal alone stops the next attempt, so that it must be written.
    """
    known = view.history
    job_id = "" if known.retry is not None else known.job_id
    record = Cancelled(happened_at=clock(), attempt=known.attempt, user=user_name(), job_id=job_id)
    if not job_id:
        view.folder.append(record)
        return ""
    backend(known.backend).cancel(JobId(job_id))
    with suppress(OSError):
        view.folder.append(record)
        # What the monitor watches of a living job: of one that has not begun no other file will tell.
        os.utime(view.folder.attempt(known.attempt))
    return job_id
