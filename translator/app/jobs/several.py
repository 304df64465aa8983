"""Several polled jobs: their lines at once, the rest when it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...state.job_folder import JobFolder
from ..job_view import job_line, job_view
from ..results.failure import failure_of
from .refresh import refresh

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...monitor.poll import View
    from ...view.failure import JobFailure
    from ...view.job import JobView
    from ...view.task import TaskView
    from ..session import Session


def failure_named(session: Session, name: str) -> JobFailure | None:
    """Return why the job in a named folder failed; None if it has not failed."""
    return failure_of(session, refresh(session, JobFolder(path=session.store.jobs / name)))


class Several:
    """Polled jobs. Logs are read only for those whose failure is shown."""

    def __init__(self, session: Session, views: Sequence[View]) -> None:
        self._session, self._views = session, {view.folder.name: view for view in views}
        self.lines = [job_line(view) for view in views]

    def with_tasks(self, chosen: Callable[[Sequence[TaskView]], Sequence[TaskView]]) -> Several:
        """Return the jobs that have chosen tasks."""
        return Several(self._session, [view for view in self._views.values() if chosen(view.tasks)])

    def jobs(self) -> list[JobView]:
        """Return how the jobs stand."""
        return [job_view(self._session, view) for view in self._views.values()]

    def failure_of(self, name: str) -> JobFailure | None:
        """Return why a job failed; None if it has not failed."""
        return failure_of(self._session, self._views[name])
