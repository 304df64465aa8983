"""Several polled jobs: their lines at once, the rest when it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..failed_task import failure_of
from ..job_view import job_line, job_views
from .refresh import say_doubts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...monitor.facts import View
    from ...view.cost import AttemptUse
    from ...view.failure import JobFailure
    from ...view.jobs import JobView
    from ...view.task import TaskView, Usage
    from ..session import Session


class PolledJobs:
    """Polled jobs, the `groups` that selected some of them, and what was measured. Logs are read for shown jobs."""

    def __init__(
        self,
        session: Session,
        views: Sequence[View],
        groups: Mapping[str, Sequence[str]],
        uses: Sequence[Sequence[AttemptUse]],
        usages: Sequence[tuple[Usage, ...]],
    ) -> None:
        self._session, self._views = session, {view.folder.name: view for view in views}
        self.groups, self.uses, self.usages = groups, uses, usages
        self.lines = [job_line(view) for view in views]

    def with_tasks(self, chosen: Callable[[Sequence[TaskView]], Sequence[TaskView]]) -> PolledJobs:
        """Return the jobs that have chosen tasks, without groups and measurements."""
        return PolledJobs(self._session, [view for view in self._views.values() if chosen(view.tasks)], {}, (), ())

    def jobs(self, chosen: Callable[[Sequence[TaskView]], Sequence[TaskView]] = lambda tasks: tasks) -> list[JobView]:
        """Return how the jobs stand, with their chosen tasks."""
        return job_views(self._session, self._views.values(), self.uses, self.usages, chosen)

    def failure_of(self, name: str) -> JobFailure | None:
        """Return why a job failed, without the failed command; None if it has not failed."""
        return failure_of(self._session, self._views[name], locates=False)

    def say_doubts(self) -> None:
        """Send events about unknown states of jobs and read errors."""
        say_doubts(self._session, list(self._views.values()))
