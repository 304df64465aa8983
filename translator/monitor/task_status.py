"""Determine the state of each task from the result and the reports. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from .job_status import TASK_STOPPED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..state.records import JobRole
    from ..state.result import Result, TaskResult
    from ..state.task_reports import Report
    from .job_status import State


class TaskView(Struct, frozen=True, kw_only=True):
    """The state of a task; None for events that never happened. Times are seconds since 1970."""

    role: str
    index: int
    task_attempt: int
    state: State
    exit_status: int | None = None
    exit_code: int | None = None
    node: str = ""
    started_at: int | None = None
    ended_at: int | None = None
    hold_ends_at: int | None = None
    """Until when the failed task is held (isDebug)."""
    background_began_at: int | None = None
    """When the commands succeeded, while processes that they left keep the task running."""
    background_processes: tuple[str, ...] = ()
    """Those processes, as `PID:NAME`, at most eight."""

    @property
    def name(self) -> str:
        """Return the name of the task, `worker-0`."""
        return f"{self.role}-{self.index}"

    @property
    def completed(self) -> bool:
        """Return whether the task started and ended by itself."""
        return self.state in ("SUCCEEDED", "FAILED") and self.started_at is not None


def task_views(
    roles: tuple[JobRole, ...],
    result: Result | None,
    reports: Mapping[str, Mapping[int, Report]],
    *,
    ended: bool,
) -> tuple[TaskView, ...]:
    """Return every task of a job in the order of the job file; `reports` are by role folder and index.

    The result has precedence over reports. `ended` tells whether the job has ended.
    """
    results = {(task.role, task.index): task for task in result.tasks} if result else {}

    def view(role: JobRole, index: int) -> TaskView:
        task = results.get((role.name, index))
        if task is not None:
            return _ended_task(task, ended=ended)
        return _reported_task(role.name, index, reports.get(role.folder, {}).get(index), ended=ended)

    return tuple(view(role, index) for role in roles for index in range(role.instances))


def _ended_task(task: TaskResult, *, ended: bool) -> TaskView:
    return TaskView(
        role=task.role,
        index=task.index,
        task_attempt=task.task_attempt,
        state=task.state if ended or not task.lingers else "STOPPING",
        exit_status=task.exit_status,
        exit_code=task.exit_code,
        node=task.node,
        started_at=task.started_at,
        ended_at=task.ended_at,
    )


def _reported_task(role: str, index: int, report: Report | None, *, ended: bool) -> TaskView:
    """Return a task from its report. A task without an end was stopped if the job has ended."""
    if report is None:
        state: State = "STOPPED" if ended else "WAITING"
        return TaskView(role=role, index=index, task_attempt=0, state=state, exit_code=TASK_STOPPED if ended else None)
    if report.ended is None:
        state, code = ("STOPPED", TASK_STOPPED) if ended else ("RUNNING", None)
    else:
        state, code = ("SUCCEEDED" if report.behaviour == "success" else "FAILED"), report.code
    return TaskView(
        role=role,
        index=index,
        task_attempt=report.attempt,
        state=state,
        exit_status=report.status,
        exit_code=code,
        node=report.node,
        started_at=report.started,
        ended_at=report.ended,
        hold_ends_at=None if ended or report.ended is not None else report.held,
        background_began_at=None if ended or report.ended is not None else report.background_began_at,
        background_processes=() if ended or report.ended is not None else report.holders,
    )
