"""Wait for jobs, for a time; and how they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..app.jobs.failure import failure_of
from ..app.jobs.job_sites import JobSites
from ..app.jobs.refresh import refresh_all
from ..app.jobs.waiting import known_ends, wait_for_ends
from ..errors import WaitTimeoutError
from ..monitor.poll import open_job
from ..monitor.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..monitor.poll import View
    from ..state.job_folder import JobFolder


def statuses(views: Iterable[View]) -> list[Status]:
    """Return how jobs stand, and why those failed that did."""
    return [Status.of(view, failure_of(view)) for view in views]


def wait(folders: Sequence[JobFolder], *, first: bool, timeout: float | None) -> list[Status]:
    """Return how jobs ended, or how all stand after `timeout` seconds; as `wait_for_ends`."""
    try:
        ends = wait_for_ends(folders, first=first, between=lambda: None, timeout=timeout)
    except WaitTimeoutError:
        return statuses(refresh_all([open_job(folder) for folder in folders], max_age=JobSites().interval()))
    return statuses(known_ends(ends))
