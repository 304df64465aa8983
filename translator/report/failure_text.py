"""Format the reason for a job's failure as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..folded_names import folded
from ..plural import counted
from ..terminal_text import one_line, pairs_text
from ..times import format_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..monitor.failure import Failure
    from ..monitor.first_cause import FirstCause
    from ..monitor.task_status import TaskView

MAX_COMMAND, MAX_WORDS, MAX_LINE = 60, 120, 200
"""The most characters to show of a command, of the last words, and of a log line."""
STREAMS = {
    "stderr": "its standard error",
    "stdout": "its standard output",
    "runtime": "the log of its prerequisites and plugins",
    "batch": "the batch log",
}


def failure_rows(failure: Failure) -> list[tuple[str, str]]:
    """Return the known facts of a failure as (name, text), without the last lines of the log."""
    rows = [*_cause_rows(failure), *_facts(failure), *_advice(failure)]
    return [(name, text) for name, text in rows if text]


def cause_text(failure: Failure) -> str:
    """Return the first cause of a failure in a line, then a line each for the other tasks and the evidence."""
    (name, first), *others = _cause_rows(failure)
    return "\n".join([f"{name} {one_line(first)}", *(f"  {what}: {one_line(text)}" for what, text in others if text)])


def failure_text(failure: Failure) -> str:
    """Return what explains a failure: its command and exit rule, the last lines of its log, and advice."""
    before = _facts(failure)
    rows = pairs_text((name, one_line(text)) for name, text in before + _advice(failure)).split("\n")
    place = sum(bool(text) for _, text in before)
    return "\n".join([*rows[:place], *_last_lines(failure), *rows[place:]])


def _facts(failure: Failure) -> list[tuple[str, str]]:
    return [
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


def _cause_rows(failure: Failure) -> list[tuple[str, str]]:
    """Return the first cause, the cascade, the stopped tasks, and the evidence, as (name, text)."""
    first, when = failure.first, f"at {format_time(failure.ended_at)}: " if failure.ended_at else ""
    if first is None:
        return [("failed", f"{when}{failure.what}")]
    task = first.task
    where = f"{task.role}-{task.index} on {task.node or 'an unknown node'}"
    retry = f", task attempt {task.task_attempt}" if task.task_attempt else ""
    words = f". Last words: {_cut(failure.last_words, MAX_WORDS)}" if failure.last_words else ""
    return [
        ("failed by", f"{where}{retry} {when}{failure.what}{words}"),
        ("cascade", _cascade_text(first)),
        ("stopped by paislurm", _names(first.stopped)),
        *((f"{task.node} reports", text) for text in first.evidence),
    ]


def _cascade_text(first: FirstCause) -> str:
    """Return how many tasks failed besides the first, how much later, and their names."""
    if not first.cascade:
        return ""
    least, most = (f"{delay / 1000:.1f}" for delay in first.delays_ms)
    when = f"{least} s later" if least == most else f"{least} to {most} s later"
    return f"{counted(len(first.cascade), 'other')} failed {when}: {_names(first.cascade)}"


def _names(tasks: Iterable[TaskView]) -> str:
    return _cut(folded(f"{task.role}-{task.index}" for task in tasks))


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
