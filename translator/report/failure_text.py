"""Format the reason for a job's failure as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..terminal_text import one_line, pairs_text

if TYPE_CHECKING:
    from ..monitor.failure import Failure

MAX_COMMAND = 60
MAX_LINE = 200
"""The most characters to show of a command and of a log line."""
STREAMS = {
    "stderr": "its standard error",
    "stdout": "its standard output",
    "runtime": "the log of its prerequisites and plugins",
    "batch": "the batch log",
}


def failure_rows(failure: Failure) -> list[tuple[str, str]]:
    """Return the known facts of a failure as (name, text), without the last lines of the log."""
    return [(name, text) for name, text in [*_facts(failure), *_advice(failure)] if text]


def failure_text(failure: Failure) -> str:
    """Return why a job failed: the deciding task, its exit rule, the last lines of its log, and advice."""
    before = _facts(failure)
    rows = pairs_text((name, one_line(text)) for name, text in before + _advice(failure)).split("\n")
    place = sum(bool(text) for _, text in before)
    return "\n".join([*rows[:place], *_last_lines(failure), *rows[place:]])


def _facts(failure: Failure) -> list[tuple[str, str]]:
    return [
        ("failed task", _task_text(failure)),
        *_command_rows(failure),
        ("exit rule", failure.rule),
        ("retries", failure.retry_rule),
    ]


def _advice(failure: Failure) -> list[tuple[str, str]]:
    return [
        ("likely", failure.cause),
        ("usually", failure.advice.meaning),
        ("look at", failure.advice.look),
        ("try", failure.advice.remedy),
    ]


def _task_text(failure: Failure) -> str:
    task = failure.task
    if task is None:
        return ""
    retry = f", task attempt {task.task_attempt}" if task.task_attempt else ""
    status = f", exit status {task.exit_status}" if task.exit_status is not None else ""
    return f"{task.role}-{task.index} on node {task.node or 'unknown'}{status}{retry}"


def _command_rows(failure: Failure) -> list[tuple[str, str]]:
    """Return the location and text of the failed command, or the range of lines that contains it."""
    command = failure.command
    if command is None:
        return []
    if command.line != command.last_line:
        return [("command", f"{command.file}, one of lines {command.line} to {command.last_line}")]
    text = f": {_cut(command.text, MAX_COMMAND)}" if command.text else ""
    return [("command", f"{command.file}:{command.line}{text}")]


def _last_lines(failure: Failure) -> list[str]:
    name = STREAMS[failure.stream]
    if not failure.last_lines:
        return [f"{name} is empty"] if failure.task is None else ["the task printed nothing"]
    return [f"last lines of {name}:", *(f"  | {_cut(one_line(line))}" for line in failure.last_lines)]


def _cut(line: str, most: int = MAX_LINE) -> str:
    return line if len(line) <= most else f"{line[:most]}…"
