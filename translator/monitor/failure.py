"""Which task decided that a job failed: by its result, else the first that failed. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .poll import View
    from .task_status import TaskView


def deciding_task(view: View) -> TaskView | None:
    """Return the task whose end decided that the job failed, None where none did.

    No task decides where Slurm or a node ended the job, or where the job failed before a task began.
    """
    result, code = view.result, view.job_status.code
    if view.job_status.state != "FAILED" or code is None:
        return None
    trigger = result.trigger if result is not None and result.exit_code == code else None
    if trigger is not None:
        named = (task for task in view.tasks if (task.role, task.index) == (trigger.role, trigger.index))
        return next(named, None)
    failed = [task for task in view.tasks if task.state == "FAILED" and task.completed]
    of_that_code = [task for task in failed if task.exit_code == code]
    # A negative code is a job's as a rule: of a node, of the time limit, of Slurm.
    return min(of_that_code or (failed if code > 0 else []), key=_when, default=None)


def _when(task: TaskView) -> int:
    return task.ended_at or 0
