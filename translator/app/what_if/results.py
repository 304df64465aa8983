"""The result that the script writes at the end of an attempt. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...monitor.job_status import TASK_STOPPED
from ...state.result import Result, TaskResult, Trigger

if TYPE_CHECKING:
    from ...state.result import TaskState
    from .attempt import Attempt, JobModel
    from .completion import Decision
    from .subjects import Task

LOST = -1001
"""The exit code of the loss of a node."""


def node_of(job: JobModel, task: Task) -> str:
    """Return a name for the node of a task."""
    return f"the node of {job.name(task)}"


def result_of(tasks: Attempt, decision: Decision, failed: tuple[Task, ...] = ()) -> Result:
    """Return the result that the script writes. Source: `print_result` of the runtime."""
    job, exits = tasks.job, {(each.role, each.index): each for each in tasks.exits}

    def row(task: Task) -> TaskResult:
        end = exits.get(task)
        state: TaskState = "STOPPED"
        code, behaviour = TASK_STOPPED, "stop"
        if end is not None:
            state, code, behaviour = "SUCCEEDED" if end.succeeded else "FAILED", end.code, end.behaviour
        elif task in failed:
            state, code, behaviour = "FAILED", LOST, "transient"
        begun = task in tasks.runs
        return TaskResult(
            role=job.names[task[0]], index=task[1], task_attempt=tasks.runs.get(task, 0), state=state,
            exit_status=end.status if end else None, exit_code=code, behaviour=behaviour,
            node_name=node_of(job, task) if begun else None, started_at=tasks.began if begun else None,
            ended_at=tasks.now if begun else None,
        )  # fmt: skip

    trigger = None
    if decision.trigger is not None:
        rule, role, index, threshold = decision.trigger
        trigger = Trigger(role=job.names[role], index=index, completion_rule=rule, count=threshold, threshold=threshold)
    return Result(
        job_id="", outcome=decision.outcome, exit_code=decision.code, behaviour=decision.behaviour, reason="",
        started_at=tasks.began, ended_at=tasks.now, tasks=tuple(map(row, job.tasks)), trigger=trigger,
    )  # fmt: skip
