"""Why a job failed: its first failed task, the last lines of the log, and the place of the failed command."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.registry import is_remote

from ..errors import BackendError
from ..exit_codes.codes import FOLDER_FULL, UNEXPLAINED
from ..monitor.first_cause import first_cause
from ..monitor.job_failure import CommandPlace, deciding_task, failed_code, job_failure
from ..monitor.last_words import Output, telling_output
from ..state.changes import memory_step
from ..state.kept_plan import kept_plan
from ..state.task_reports import read_command_ends, read_scripts
from .log_reading import fetch, last_lines, run_folder_with_logs
from .room import no_room_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ..monitor.facts import View
    from ..state.history import History
    from ..state.journal_records import JobRole
    from ..state.kept_plan import KeptCommand, KeptPlan
    from ..state.task_reports import CommandEnd
    from ..view.failure import JobFailure, LogStream
    from ..view.task import TaskView
    from .session import Session


LINES, SEARCHED = 10, 200
"""The number of last lines of a log to show, and to search for the cause."""


def failure_of(session: Session, view: View, *, locates: bool = True) -> JobFailure | None:
    """Return why a job, or between two attempts its last attempt, failed; None if it did not. Omit unreadable data.

    Unless it `locates`, leave out the failed command: its place in the job file takes several starts of bash.
    """
    code = failed_code(view)
    if code is None:
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
    plan, place = kept_plan(view.folder.path), None
    if locates and not in_hook:
        place = command_place(plan, role.name, _command_ends(view, role, task), lines, session.environment)
    return job_failure(
        view,
        code,
        first,
        command=place,
        stream=stream,
        last_lines=lines,
        words=words,
        memory_mib=requested_memory(view.history, plan, role.name),
        no_room=no_room,
    )


def _role(view: View, task: TaskView | None) -> JobRole | None:
    return next((role for role in view.history.roles if task is not None and role.name == task.role), None)


def requested_memory(known: History, plan: KeptPlan, role: str) -> int:
    """Return the memory that the tasks of a role requested in the last attempt, 0 if unknown."""
    steps, step = known.retry_policy.memory_steps, memory_step(known.changes)
    if step and step >= len(steps):
        # A change of the partition has ended the growth, and its steps are gone.
        return 0
    grown = steps[step].get(role, 0) if steps else 0
    kept = plan.roles_by_name.get(role)
    return grown or (kept.resources.memory_mib if kept else 0)


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


MAX_LINES = 40
"""The most lines to search back for the start of a command; each starts a bash that parses all lines before."""
_CHANGES_LINE_NUMBERS = re.compile(r"\b(?:trap|eval)\b")
_LOOP = re.compile(r"\b(?:while|until)\b")
_BLANK = re.compile(r"[\s;]|\\\n")
"""Blanks and command separators, which bash prints in another form than the script."""
_LINE_NOT_RUN = re.compile(
    r"^(?:\S*/commands/\S+\.sh|/dev/fd/\d+): line (\d{1,9}): (?:syntax error|unexpected |[^:]+: (?:ambiguous redirect|"
    r"No such file or directory|Permission denied|Not a directory|Is a directory|cannot overwrite existing file))"
)
"""Messages of bash about a line that it cannot parse or redirect. Only they locate such a line: none of it runs.
Source: bash(1); observed on 5.1 to 5.3."""


def command_place(
    plan: KeptPlan, role: str, ends: Sequence[CommandEnd], printed: Sequence[str], environment: Mapping[str, str]
) -> CommandPlace | None:
    """Return the place of the failed command in the job file, from the command ends that bash reported.

    `printed` are the last lines of the task's log; $PATH of `environment` has bash. None if the plan lacks the
    commands.
    """
    found = plan.roles_by_name.get(role)
    if found is None or found.command is None:
        return None
    place = _place(plan.file, found.command, ends, printed, environment)
    # W402: tasks do not run in their image.
    warning = next((each.message for each in plan.diagnostics if each.code == "W402"), "")
    return place and replace(place, workdir=found.workdir or "", image_warning=warning)


def _place(
    file: str, command: KeptCommand, ends: Sequence[CommandEnd], printed: Sequence[str], environment: Mapping[str, str]
) -> CommandPlace | None:
    from .input.local_checks import file_line

    first, last = failed_lines(command.text, ends, printed, environment)
    line, last_line = file_line(command.item_lines, first), file_line(command.item_lines, last)
    if not line:
        return None
    shown = command.text.split("\n")[first - 1].strip() if first == last else ""
    return CommandPlace(file=file, line=line, last_line=last_line, text=shown)


def failed_lines(
    text: str, ends: Sequence[CommandEnd], printed: Sequence[str], environment: Mapping[str, str]
) -> tuple[int, int]:
    """Return the first and the last line (from 1) of a range that contains the failed command.

    Without a usable report of bash, return all lines. `printed` is the end of the standard error.
    """
    lines = text.split("\n")
    message = _LINE_NOT_RUN.match(printed[-1]) if printed else None
    for end in ends:
        places = _places(text, end.command)
        found = _by_line(lines, end.line, places, environment) if end.line else _by_command(text, end.command, places)
        if found and (_is_exit(end.command) or message is None or _covers([found, *places], int(message[1]))):
            first, last = found
            is_one = all(line.endswith("\\") for line in lines[first - 1 : last - 1])
            return first, first if is_one else last
    return 1, len(lines)


def _covers(places: Sequence[tuple[int, int]], line: int) -> bool:
    return any(first <= line <= last for first, last in places)


def _is_exit(command: str) -> bool:
    return command.partition(" ")[0] == "exit"


def _by_line(
    lines: Sequence[str], line: int, places: Sequence[tuple[int, int]], environment: Mapping[str, str]
) -> tuple[int, int] | None:
    """Return the lines of a command by its last line, which bash reports for subshells and pipelines.

    Within an unfinished compound command, return that line alone. None if `line` may count other lines: in the
    commands' traps and in `eval`, bash starts to count elsewhere.
    """
    from .input.local_checks import is_bash

    is_reliable = _covers(places, line) if places else not any(map(_CHANGES_LINE_NUMBERS.search, lines))
    if not is_reliable or line > len(lines):
        return None
    for start in range(line, max(0, line - MAX_LINES), -1):
        goes_on = start > 1 and lines[start - 2].rstrip().endswith(("|", "\\"))
        if not goes_on and is_bash("\n".join(lines[start - 1 : line]), environment):
            return start, line
    return line, line


def _by_command(text: str, command: str, places: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the range of all places of the command that bash ran last; None if another command may have failed.

    A loop can return the status of its body although its condition ran last.
    """
    if not places or (_LOOP.search(text) and not _is_exit(command)):
        return None
    return places[0][0], places[-1][1]


def _places(text: str, command: str) -> list[tuple[int, int]]:
    """Return the first and last line of each place of a command in a text; bash has reformatted the command."""
    wanted = _BLANK.sub("", command)
    kept = [index for index, letter in enumerate(text) if not _BLANK.match(text, index)]
    packed = "".join(text[index] for index in kept)
    found, places = packed.find(wanted) if wanted else -1, []
    while found >= 0:
        first, last = kept[found], kept[found + len(wanted) - 1]
        places.append((text.count("\n", 0, first) + 1, text.count("\n", 0, last) + 1))
        found = packed.find(wanted, found + 1)
    return places
