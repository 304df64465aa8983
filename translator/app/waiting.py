"""Wait for jobs, with a timeout; states of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import WaitTimeoutError
from ..monitor.poll import open_job
from .jobs.job_sites import JobSites
from .jobs.refresh import refresh_all
from .jobs.waiting import known_ends, wait_for_ends
from .views.of_poll import job_view

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..monitor.poll import View
    from ..state.job_folder import JobFolder
    from .session import Session
    from .views.job import JobView


def statuses(session: Session, views: Iterable[View]) -> list[JobView]:
    """Return the states of jobs, and the reasons of failures."""
    return [job_view(session, view) for view in views]


def wait(session: Session, folders: Sequence[JobFolder], *, first: bool, timeout: float | None) -> list[JobView]:
    """Return how jobs ended, or the states of all after `timeout` seconds; see `wait_for_ends`."""
    try:
        ends = wait_for_ends(session, folders, first=first, between=lambda: None, timeout=timeout)
    except WaitTimeoutError:
        return statuses(
            session,
            refresh_all(session, [open_job(folder) for folder in folders], max_age=JobSites(session).interval()),
        )
    return statuses(session, known_ends(ends))
