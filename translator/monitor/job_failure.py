"""Explain why a job failed: the task that failed first, and the meaning of its exit code. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ..exit_codes.advice import BATCH, LINES, advice, chose_its_status, lacks_something, retry_rule
from ..exit_codes.codes import NODE_LOST, OUT_OF_MEMORY, UNEXPLAINED
from ..exit_codes.table import ExitTable, conditions
from ..job import RESTART_ALWAYS
from ..state.result import reported_behaviour
from ..times import aware, seconds_since_1970
from ..view.failure import JobFailure
from ..view.states import code_text, state_of
from .last_words import error_line
from .retry import WITHOUT_LIMIT

if TYPE_CHECKING:
    from ..exit_codes.advice import Advice
    from ..exit_codes.table import ExitCode
    from ..view.failure import LogStream
    from ..view.task import TaskView
    from .facts import View
    from .first_cause import FirstCause

OF_COMMANDS = ("stderr", "stdout")
KILLED, TERMINATED = 137, 143
MAX_CONDITIONS = 2
"""The number of conditions to list for a code; `paislurm explain CODE` lists all."""


class CommandPlace(Struct, frozen=True, kw_only=True):
    """Locate the failed command in the job file, by lines from 1; `text` is the command itself, if known.

    `workdir` is the working directory of the commands, as the job file writes it, "" if the plan does not contain
    it. `image_warning` is the plan's warning if they do not run in their image, else "".
    """

    file: str
    line: int
    last_line: int
    text: str = ""
    workdir: str = ""
    image_warning: str = ""


def job_failure(
    view: View,
    code: int,
    first: FirstCause | None,
    *,
    command: CommandPlace | None,
    stream: LogStream,
    last_lines: tuple[str, ...],
    words: str = "",
    memory_mib: int = 0,
    no_room: str = "",
) -> JobFailure:
    """Explain a job's failure with this code, by the site's meaning of the code of the task that failed first.

    `first` is None if no task decided, `command` if no command of the job file failed. `words` is the line of the
    task's logs that tells the cause, `memory_mib` the memory that the task requested, 0 if unknown. `no_room` reports
    a full job folder, or is "".
    """
    table, job_code = view.table, code
    task = first.task if first else None
    reason, end = _last_end(view)
    failed = task if task is not None and task.state == "FAILED" else None
    code = failed.exit_code if failed and failed.exit_code is not None else code
    row, status = table.describe(code), failed.exit_status if failed else None
    kind = BATCH if task is None and code == UNEXPLAINED else row.type
    printed = _printed(last_lines if stream in OF_COMMANDS else (), words)
    heard = printed if task is not None else last_lines
    place = command.workdir if command else ""
    said = advice(code, status, kind=kind, last_lines=heard, workdir=place).of_job(view.history.job_id)
    said = said.with_memory(memory_mib) if code == OUT_OF_MEMORY else said
    if chose_its_status(code, status) and _is_silent(last_lines, stream):
        said = said.of_silence()
    own = words.removeprefix(_ERROR) if words.startswith(_ERROR) else ""
    return JobFailure(
        task=task.name if task else None,
        task_attempt=task.task_attempt if task else None,
        node=task.node if task else None,
        what=own or (_what_of_task(task, code, said) if task is not None else reason),
        ended_at=task.ended_at if task else aware(end),
        last_words=None if own else words or None,
        cascade=tuple(each.name for each in first.cascade) if first else (),
        cascade_delays_ms=first.delays_ms if first else None,
        stopped=tuple(each.name for each in first.stopped) if first else (),
        evidence=first.evidence if first else (),
        exit_code=job_code,
        exit_status=status,
        exit_rule=_rule(row, view, status),
        retry_rule=_retry_rule(table.describe(job_code, reported_behaviour(view.result, job_code)), view),
        cause=_cause(code, status, printed, command) or no_room or None,
        meaning=said.meaning,
        advice=said.text,
        look=said.look,
        remedy=said.remedy,
        failed_command=command.text or None if command else None,
        file=command.file if command else None,
        line=command.line if command else None,
        last_line=command.last_line if command else None,
        stream=stream,
        last_lines=last_lines,
    )


def _last_end(view: View) -> tuple[str, int | None]:
    """Return why and when the last attempt ended."""
    ended, retry = view.history.ended, view.history.retry
    if retry is not None and not view.job_status.ended:
        return retry.reason, retry.ended_at
    return view.job_status.reason, ended.ended_at if ended else None


def _is_silent(lines: tuple[str, ...], stream: LogStream) -> bool:
    return not lines or (stream == "stdout" and not error_line(lines))


def _printed(lines: tuple[str, ...], words: str) -> tuple[str, ...]:
    """Return the last lines of a command, and the words that tell the cause if these lines lack them."""
    return (*lines, words) if words and not any(line.endswith(words) for line in lines[-LINES:]) else lines


_ERROR = "paislurm: error: "
"""The start of the runtime's own errors in a task's log."""
_SHORT = {NODE_LOST: "its node was lost", OUT_OF_MEMORY: "out of memory"}


def short_cause(table: ExitTable, code: int, status: int | None) -> str:
    """Return what ended a task or job with this exit code, in a few words."""
    return _what(code, status, advice(code, status, kind=table.describe(code).type))


def _what_of_task(task: TaskView, code: int, said: Advice) -> str:
    """Return what ended the task of the first cause, in a few words.

    Tasks that paislurm ends by a signal have the state STOPPED, and do not fail.
    """
    if task.state == "FAILED":
        sender = ", which paislurm did not send" if code == task.exit_status and code in (KILLED, TERMINATED) else ""
        return _what(code, task.exit_status, replace(said, short=f"{said.short}{sender}"))
    ending = "ended with exit status 0" if task.state == "SUCCEEDED" else "did not end until it was stopped"
    return f"reported an error, and {ending}"


def _what(code: int, status: int | None, said: Advice) -> str:
    """Return what ended a task, in a few words: the short advice, and the exit status."""
    number = f"exit status {status}" if status is not None else ""
    if chose_its_status(code, status) and said.meaning == advice(code, status).meaning:
        return number
    words = _SHORT.get(code) or said.short
    return f"{words}, {number}" if number else words


def _cause(code: int, status: int | None, printed: tuple[str, ...], command: CommandPlace | None) -> str:
    """Return the likely cause if a command did not find something: it runs outside its image."""
    warning = command.image_warning if command else ""
    return warning if warning and lacks_something(code, status, printed) else ""


def failed_code(view: View) -> int | None:
    """Return the code with which a job, or between two attempts its last attempt, failed; None if neither did."""
    status, retry = view.job_status, view.history.retry
    if status.state == "FAILED":
        return status.code
    between = retry is not None and not status.ended and view.history.is_between_attempts
    return retry.exit_code if retry is not None and between and state_of(retry.exit_code) == "FAILED" else None


def deciding_task(view: View) -> TaskView | None:
    """Return the task whose end decided that the job, or its last attempt, failed; None if there is none.

    There is none if Slurm or a node ended the job, or if the job failed before a task started.
    """
    result, code = view.result, failed_code(view)
    if code is None:
        return None
    trigger = result.trigger if result is not None and result.exit_code == code else None
    if trigger is not None:
        named = (task for task in view.tasks if (task.role, task.index) == (trigger.role, trigger.index))
        return next(named, None)
    failed = [task for task in view.tasks if task.state == "FAILED" and task.completed]
    of_that_code = [task for task in failed if task.exit_code == code]
    # A negative code usually belongs to a job: a node, the time limit, or Slurm ended it.
    return min(
        of_that_code or (failed if code > 0 else []),
        key=lambda task: seconds_since_1970(task.ended_at) or 0,
        default=None,
    )


def usual_advice(table: ExitTable, code: int) -> Advice | None:
    """Return the advice for an exit code alone; None if the code explains nothing."""
    return None if code in (0, UNEXPLAINED) else advice(code, kind=table.describe(code).type)


def _rule(row: ExitCode, view: View, exit_status: int | None) -> str:
    """Describe the rule that gave the failure this code."""
    name = code_text(row.code, row.phrase)
    if row.code == UNEXPLAINED and exit_status is not None:
        return f"no rule of the exit specification matches exit status {exit_status}: {name}"
    found = conditions(row.code)
    if found and len(found) <= MAX_CONDITIONS:
        return f"{' or '.join(found)}: {name}"
    if found:
        return f"one of {len(found)} rules, see `paislurm explain {row.code}`: {name}"
    ended = view.history.ended
    words = ended.backend_state if ended else ""
    return f"{row.states[words]}: {name}" if words in row.states else name


def _retry_rule(row: ExitCode, view: View) -> str:
    limit = view.history.retry_policy.retry_limit
    if limit == RESTART_ALWAYS:
        return "restarted after any end, up to `retry.maxRestarts` of the site profile"
    if row.behaviour != "unknown":
        return retry_rule(row)
    if limit == WITHOUT_LIMIT:
        return "retried without a limit (retry count -1)"
    return f"{retry_rule(row)} ({limit})" if limit else "not retried, because `jobRetryCount` is 0"
