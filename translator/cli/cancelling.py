"""Cancel a job: ask the backend, and write down that it was asked."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from paislurm.backends.base import JobId

from ..errors import Fault, UnreachableError
from ..monitoring.journal import append
from ..monitoring.look import given_up, look
from ..monitoring.records import Cancelled
from .home import backend, clock, user_name

if TYPE_CHECKING:
    from ..monitoring.look import View
    from ..monitoring.store import JobFolder


def cancel(folder: JobFolder) -> tuple[str, View]:
    """Cancel a job and return what was done; BackendError if it could not be asked for."""
    view = look(folder, backend, clock())
    known, now = view.history, clock()
    if view.standing.ended:
        return f"{folder.name} has already ended: {view.standing.state}", view
    if not known.job_id:
        why = view.problem or "it may still be on its way to Slurm"
        hint = "try again in some minutes: its tag finds it"
        message = f"it is not known whether {folder.name} was submitted: {why}"
        raise UnreachableError(Fault(code="E513", message=message, hint=hint))
    if view.standing.state == "UNKNOWN" and not view.problem and view.observation is None:
        reason = "given up by the user: Slurm does not know the job, and it left no result"
        append(folder.journal, given_up(known, now, "STOPPED", -210, reason))
        return f"{folder.name} is given up: Slurm does not know job {known.job_id}", look(folder, backend, now)
    backend(known.backend).cancel(JobId(known.job_id))
    with suppress(OSError):
        append(folder.journal, Cancelled(time=now, attempt=known.attempt, user=user_name()))
    return f"{folder.name} is being cancelled (job {known.job_id})", look(folder, backend, clock())
