"""Hand an attempt to the backend such that nothing is lost: the intent is written down before it is asked."""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING

from paislurm.backends.base import Submission

from .journal import append
from .records import Intent, Submitted

if TYPE_CHECKING:
    from collections.abc import Callable

    from paislurm.backends.base import Backend, JobId

    from .history import History
    from .store import JobFolder

NEVER_SENT = ("E501", "E506")
"""The faults of a program that is not there, and of a Slurm that nobody reaches: nothing was asked of them."""


def new_intent(attempt: int, now: int) -> Intent:
    """Return an intent with a tag that no other attempt has."""
    return Intent(time=now, attempt=attempt, tag=f"paislurm-{token_hex(8)}")


def submit_attempt(
    folder: JobFolder, known: History, backend: Backend, clock: Callable[[], int]
) -> tuple[JobId, OSError | None]:
    """Submit the attempt whose intent is in the journal; BackendError if the backend did not take it.

    Returns its id and, where it could not be written down, why: the job runs all the same, its tag finds it.
    """
    job_id = backend.submit(
        Submission(
            script=folder.script(known.attempt),
            folder=folder.path,
            attempt=known.attempt,
            tag=known.tag,
            log=folder.batch_log(known.attempt),
        )
    )
    try:
        append(folder.journal, submitted(known, job_id, clock()))
    except OSError as error:
        return job_id, error
    return job_id, None


def submitted(known: History, job_id: JobId, now: int) -> Submitted:
    """Return the record of an attempt that the backend took."""
    return Submitted(
        time=now,
        attempt=known.attempt,
        job_id=job_id,
        job=known.job,
        user=known.user,
        backend=known.backend,
        tasks=known.tasks,
    )
