"""Why a job failed: the task that decided, and what its end means. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ..exit_codes.advice import BATCH, UNEXPLAINED, advice, lacks_something, retry_rule
from ..exit_codes.table import ExitTable, conditions
from ..job import RESTART_ALWAYS
from .retry import WITHOUT_LIMIT

if TYPE_CHECKING:
    from ..exit_codes.advice import Advice
    from ..exit_codes.table import ExitCode
    from ..state.history import History
    from .poll import View
    from .task_status import TaskView

OF_COMMANDS = ("stderr", "stdout")
MAX_CONDITIONS = 2
"""Of a code that more failures become, `explain-exit` has the list."""


class CommandPlace(Struct, frozen=True, kw_only=True):
    """Name the lines of the job file (from 1) of which one has the command that failed, and its text if it is one.

    `workdir` is where the commands start, in the words of the job file, "" where the plan does not tell.
    `image_warning` is what the plan warned of if they do not run in their image, else "".
    """

    file: str
    line: int
    last_line: int
    text: str = ""
    workdir: str = ""
    image_warning: str = ""


class Failure(Struct, frozen=True, kw_only=True):
    """Say why a job failed. No `task` where none decided, no `command` where no command of the job file is to blame.

    `cause` is a likely one that the job's own facts give, "" where they give none.
    `stream` is what the last lines are of: `stderr`, `stdout` or `runtime` of the task, or `batch`, the batch script.
    """

    task: TaskView | None
    exit_code: int
    rule: str
    retry_rule: str
    cause: str
    advice: Advice
    command: CommandPlace | None
    stream: str
    last_lines: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """Return the record for `--json`."""
        task, command = self.task, self.command
        return {
            "task": f"{task.role}-{task.index}" if task else None,
            "node": (task.node or None) if task else None,
            "exit_code": self.exit_code,
            "exit_status": task.exit_status if task else None,
            "cause": self.cause or None,
            "meaning": self.advice.meaning,
            "advice": self.advice.text,
            "file": command.file if command else None,
            "line": command.line if command else None,
            "last_line": command.last_line if command else None,
            "stream": self.stream,
            "last_lines": list(self.last_lines),
        }

    @classmethod
    def of(
        cls,
        view: View,
        code: int,
        task: TaskView | None,
        *,
        command: CommandPlace | None,
        stream: str,
        last_lines: tuple[str, ...],
        no_room: str = "",
    ) -> Failure:
        """Return the failure of a job with this code, decided by this task, with what its code means on its site.

        `no_room` says that its folder takes nothing more now.
        """
        row = ExitTable(view.history.exit_rows).describe(code)
        status = task.exit_status if task else None
        kind = BATCH if task is None and code == UNEXPLAINED else row.type
        printed = last_lines if stream in OF_COMMANDS else ()
        return cls(
            task=task,
            exit_code=code,
            rule=_rule(row, view, status),
            retry_rule=_retry_rule(row, view),
            cause=_cause(code, status, printed, command) or no_room,
            advice=advice(
                code,
                status,
                kind=kind,
                last_lines=printed if task is not None else last_lines,
                workdir=command.workdir if command else "",
            ).of_job(view.history.job_id),
            command=command,
            stream=stream,
            last_lines=last_lines,
        )


def _cause(code: int, status: int | None, printed: tuple[str, ...], command: CommandPlace | None) -> str:
    """Return what probably made a command fail that did not find something: where it runs."""
    warning = command.image_warning if command else ""
    return warning if warning and lacks_something(code, status, printed) else ""


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


def advice_between(known: History) -> Advice | None:
    """Return what to say of the attempt that ended before the one that is due; None where its code tells nothing."""
    retry = known.retry
    if retry is None or known.ended is not None or retry.exit_code in (0, UNEXPLAINED):
        return None
    row = ExitTable(known.exit_rows).describe(retry.exit_code)
    return advice(row.code, kind=row.type).of_job(known.job_id)


def _when(task: TaskView) -> int:
    return task.ended_at or 0


def _rule(row: ExitCode, view: View, exit_status: int | None) -> str:
    """Return in words what made the failure this code."""
    name = f"code {row.code}, {row.phrase}"
    if row.code == UNEXPLAINED and exit_status is not None:
        return f"{name}: no rule of the exit specification knows exit status {exit_status}"
    found = conditions(row.code)
    if found and len(found) <= MAX_CONDITIONS:
        return f"{name}: {' or '.join(found)}"
    if found:
        return f"{name}: one of {len(found)} rules, see `paislurm explain-exit {row.code}`"
    ended = view.history.ended
    words = ended.backend_state if ended else ""
    return f"{name}: {row.states[words]}" if words in row.states else name


def _retry_rule(row: ExitCode, view: View) -> str:
    limit = view.history.retry_policy.retry_limit
    if limit == RESTART_ALWAYS:
        return "restarted after any end, as often as `retry.maxRestarts` of the site profile says"
    if row.behaviour != "unknown":
        return retry_rule(row)
    if limit == WITHOUT_LIMIT:
        return "retried without a limit (retry count -1)"
    return f"{retry_rule(row)}, which is {limit}" if limit else "not retried, because `jobRetryCount` is 0"
