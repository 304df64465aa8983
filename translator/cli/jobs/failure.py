"""Why a job failed: the task that decided, what it printed last, where its command stands, what its code means."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import BackendError
from ...exit_codes.advice import UNEXPLAINED, advice, retry_rule
from ...exit_codes.rules import conditions
from ...exit_codes.table import ExitTable
from ...lazy import dataclass
from ...monitor.failure import deciding_task
from ...state.script_reports import read_scripts
from .command_place import command_place
from .fetching import fetch, run_folder_with_logs
from .log_tail import TaskLog, last_lines

if TYPE_CHECKING:
    from pathlib import Path

    from ...exit_codes.advice import Advice
    from ...exit_codes.table import ExitCode
    from ...monitor.poll import View
    from ...monitor.task_status import TaskView
    from ...state.records import JobRole
    from .command_place import CommandPlace

LINES = 10
"""So many lines of the end of a log are shown."""
MAX_CONDITIONS = 2
"""Of a code that more failures become, `explain-exit` has the list."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Say why a job failed. No `task` where none decided, no `command` where no command of the job file is to blame.

    `stream` is what the last lines are of: `stderr`, `stdout` or `runtime` of the task, or `batch`, the batch script.
    """

    task: TaskView | None
    exit_code: int
    rule: str
    retry_rule: str
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
            "meaning": self.advice.meaning,
            "advice": self.advice.text,
            "file": command.file if command else None,
            "line": command.line if command else None,
            "stream": self.stream,
            "last_lines": list(self.last_lines),
        }


def failure_of(view: View) -> Failure | None:
    """Return why a job failed, None for one that has not. What cannot be read is left out."""
    code = view.job_status.code
    if view.job_status.state != "FAILED" or code is None:
        return None
    task = deciding_task(view)
    role = next((role for role in view.history.roles if task is not None and role.name == task.role), None)
    stream, lines, in_hook = "batch", (), False
    if task is not None and role is not None:
        in_hook = _failed_in_a_hook(view, role, task)
        stream, lines = _task_lines(view, role, task, in_hook=in_hook)
    if task is None or not lines:
        batch = last_lines(view.folder.batch_log(view.history.attempt), LINES, _owner(view))
        stream, lines = ("batch", batch) if task is None else (stream, lines)
    row = ExitTable(view.history.exit_rows).describe(code)
    status = task.exit_status if task else None
    place = command_place(view.folder.path, role.name, lines) if role is not None and not in_hook else None
    return Failure(
        task=task,
        exit_code=code,
        rule=_rule(row, view, status),
        retry_rule=_retry_rule(row, view),
        advice=advice(code, status, kind=row.type).of_job(view.history.job_id),
        command=place,
        stream=stream,
        last_lines=lines,
    )


def failure_dict(view: View) -> dict[str, object] | None:
    """Return why a job failed for `--json`, None for one that has not."""
    failure = failure_of(view)
    return failure.as_dict() if failure else None


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
    limit = f", which is {view.history.retry_policy.retry_limit}" if row.behaviour == "unknown" else ""
    return retry_rule(row) + limit


def _failed_in_a_hook(view: View, role: JobRole, task: TaskView) -> bool:
    """Tell whether a script of a prerequisite or a plugin failed the task, and not its commands."""
    runs = read_scripts(view.folder.scripts(view.history.attempt, role)).get(task.index, ())
    failed = [run for run in runs if run.task_attempt == task.task_attempt and run.exit_status]
    return bool(failed) and not any(run.phase == "commands" for run in failed)


def _task_lines(view: View, role: JobRole, task: TaskView, *, in_hook: bool) -> tuple[str, tuple[str, ...]]:
    """Return the last lines of the first log of a task that has any, and its name; that of its errors goes first."""
    streams = ("runtime", "stderr", "stdout") if in_hook else ("stderr", "stdout", "runtime")
    logs = {stream: _log(view, role, task, stream) for stream in streams}
    if not any(path.exists() for path in logs.values()):
        with suppress(BackendError, OSError):
            fetch(view.history, run_folder_with_logs(view.folder, view.history, [(role, task.index)]))
    for stream in streams:
        path = _log(view, role, task, stream)
        lines = last_lines(path, LINES, _owner(view))
        if lines:
            return ("stdout" if ".stdout" in path.name else stream), lines
    return streams[0], ()


def _log(view: View, role: JobRole, task: TaskView, stream: str) -> Path:
    attempt, number = view.history.attempt, task.task_attempt
    return TaskLog(view.folder, attempt, role, task.index, stream=stream, task_attempt=number).path


def _owner(view: View) -> int:
    return view.folder.path.stat().st_uid
