"""Explain a job's failure: the task that failed first, its last output, its failed command, and its exit code."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from paislurm.backends.registry import is_remote

from ...errors import BackendError
from ...exit_codes.table import UNEXPLAINED
from ...monitor.failure import deciding_task, job_failure
from ...monitor.first_cause import first_cause
from ...monitor.job_status import FOLDER_FULL
from ...monitor.last_words import Output, telling_output
from ...state.kept_plan import kept_plan
from ...state.task_reports import read_command_ends, read_scripts
from ..room import no_room_text
from .fetching import fetch, run_folder_with_logs
from .tail import last_lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ...monitor.poll import View
    from ...state.records import JobRole
    from ...state.task_reports import CommandEnd
    from ...view.failure import JobFailure, LogStream
    from ...view.task import TaskView
    from ..session import Session

LINES, SEARCHED = 10, 200
"""The number of last lines of a log to show, and to search for the cause."""


def failure_of(session: Session, view: View) -> JobFailure | None:
    """Return why a job failed; None if it has not failed. Omit unreadable data."""
    # Imported late: it loads the bash parser, which lists of jobs do not need.
    from .command_place import command_place

    code = view.job_status.code
    if view.job_status.state != "FAILED" or code is None:
        return None
    no_room = _full_folder_message(session, view, code)
    first = first_cause(view, deciding_task(view), partial(_lines_of, session, view))
    task = first.task if first is not None else None
    role = _role(view, task)
    if task is None or role is None:
        lines = _batch_lines(session, view)
        return job_failure(view, code, None, command=None, stream="batch", last_lines=lines, no_room=no_room)

    in_hook = _failed_in_hook(view, role, task)
    output, words = telling_output(_outputs(session, view, role, task, in_hook=in_hook))
    stream, lines = output.stream, tuple(output.lines[-LINES:])
    ends = _command_ends(view, role, task)
    place = None if in_hook else command_place(view.folder.path, role.name, ends, lines, session.environment)
    kept = kept_plan(view.folder.path).roles_by_name.get(role.name)
    return job_failure(
        view,
        code,
        first,
        command=place,
        stream=stream,
        last_lines=lines,
        words=words,
        memory_mib=kept.resources.memory_mib if kept else 0,
        no_room=no_room,
    )


def _role(view: View, task: TaskView | None) -> JobRole | None:
    return next((role for role in view.history.roles if task is not None and role.name == task.role), None)


def _lines_of(session: Session, view: View, task: TaskView) -> Sequence[str]:
    """Return the last lines of the log that tells why a task failed."""
    role = _role(view, task)
    return telling_output(_outputs(session, view, role, task, in_hook=False))[0].lines if role is not None else ()


def _full_folder_message(session: Session, view: View, code: int) -> str:
    """Return a message if a full folder may be the cause of the failure, else ""."""
    may_be = code in (UNEXPLAINED, FOLDER_FULL) and not is_remote(view.history.backend)
    return no_room_text(view.folder.path, session.runner) if may_be else ""


def _batch_lines(session: Session, view: View) -> tuple[str, ...]:
    path = view.folder.batch_log(view.history.attempt)
    if not path.exists():
        with suppress(BackendError, OSError):
            fetch(session, view.history, view.history.run_folder(view.folder.path))
    return _lines(path, view)


def _command_ends(view: View, role: JobRole, task: TaskView) -> tuple[CommandEnd, ...]:
    """Return the command ends that bash reported with the task's exit status."""
    ends = read_command_ends(_log(view, role, task, "end"))
    return tuple(end for end in ends if end.status == task.exit_status)


def _failed_in_hook(view: View, role: JobRole, task: TaskView) -> bool:
    """Return whether a hook failed the task, and not its commands."""
    runs = read_scripts(view.folder.scripts(view.history.attempt, role)).get(task.index, ())
    failed = [run for run in runs if run.task_attempt == task.task_attempt and run.exit_status]
    return bool(failed) and not any(run.phase == "commands" for run in failed)


def _outputs(session: Session, view: View, role: JobRole, task: TaskView, *, in_hook: bool) -> tuple[Output, ...]:
    """Return the last lines of each log of a task, the likeliest cause first."""
    streams: tuple[LogStream, ...] = ("runtime", "stderr", "stdout") if in_hook else ("stderr", "stdout", "runtime")
    logs = {stream: _log(view, role, task, stream) for stream in streams}
    if not any(path.exists() for path in logs.values()):
        with suppress(BackendError, OSError):
            fetch(session, view.history, run_folder_with_logs(view.folder, view.history, [(role, task.index)]))
    return tuple(Output(stream, _lines(logs[stream], view, SEARCHED)) for stream in streams)


def _lines(path: Path, view: View, count: int = LINES) -> tuple[str, ...]:
    """Return the last lines of a log, without bash's warnings of the submitter's locale, which the node may lack."""
    return tuple(line for line in last_lines(path, count, _owner(view)) if "warning: setlocale: " not in line)


def _log(view: View, role: JobRole, task: TaskView, stream: str) -> Path:
    return view.folder.log(view.history.attempt, role, task.index, task.task_attempt or 0, stream)


def _owner(view: View) -> int:
    return view.folder.path.stat().st_uid
