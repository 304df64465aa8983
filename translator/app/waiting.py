"""Wait for jobs, for a time; and how they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import WaitTimeoutError
from ..monitor.poll import open_job
from ..monitor.status import Status
from .jobs.failure import failure_of
from .jobs.job_sites import JobSites
from .jobs.refresh import refresh_all
from .jobs.waiting import known_ends, wait_for_ends

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..monitor.poll import View
    from ..state.job_folder import JobFolder
    from .session import Session


def statuses(session: Session, views: Iterable[View]) -> list[Status]:
    """Return how jobs stand, and why those failed that did."""
    return [Status.of(view, failure_of(session, view)) for view in views]


def wait(session: Session, folders: Sequence[JobFolder], *, first: bool, timeout: float | None) -> list[Status]:
    """Return how jobs ended, or how all stand after `timeout` seconds; as `wait_for_ends`."""
    try:
        ends = wait_for_ends(session, folders, first=first, between=lambda: None, timeout=timeout)
    except WaitTimeoutError:
        return statuses(
            session,
            refresh_all(session, [open_job(folder) for folder in folders], max_age=JobSites(session).interval()),
        )
    return statuses(session, known_ends(ends))
