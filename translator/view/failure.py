"""Why a job failed, as a record and as text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from ..folded_names import folded
from ..plural import attempt_name, counted
from ..terminal_text import one_line, pairs_text
from ..times import Time, format_time

_NUMBER = re.compile(r"\d+")
MAX_COMMAND, MAX_WORDS, MAX_LINE = 60, 120, 200
"""The most characters to show of a command, of the last words, and of a log line."""
MAX_BLOCK, MAX_EVIDENCE = 20, 4
"""The most lines of text about a failure, and of findings on its node among them."""
LogStream = Literal["stdout", "stderr", "runtime", "batch"]
"""A log of a task, or that of the batch script."""
STREAMS: dict[LogStream, str] = {
    "stderr": "its standard error",
    "stdout": "its standard output",
    "runtime": "the log of its prerequisites and plugins",
    "batch": "the batch log",
}


class JobFailure(Struct, frozen=True, kw_only=True):
    """Why a job failed."""

    task: str | None
    """The name of the task that failed first, `worker-0`; None if no task decided."""
    task_attempt: int | None
    """The attempt of that task, from 0."""
    node: str | None
    """The node of that task."""
    what: str
    """What ended that task, or the job, in a few words."""
    ended_at: Time | None
    """When that was."""
    last_words: str | None
    """The line of that task's logs that reports the error, or its last line; None if no line tells anything."""
    cascade: tuple[str, ...]
    """The tasks that failed by themselves besides it."""
    cascade_delays_ms: tuple[int, int] | None
    """The least and the most milliseconds from its end to theirs."""
    stopped: tuple[str, ...]
    """The tasks that paislurm or Slurm stopped."""
    evidence: tuple[str, ...]
    """What the node of that task reported."""
    exit_code: int
    """OpenPAI's exit code of the job."""
    exit_status: int | None
    """The exit status of the task's commands, 0 to 255."""
    exit_rule: str
    """The rule that gave the failure its exit code."""
    retry_rule: str
    """How a job with the exit code is retried."""
    cause: str | None
    """The probable cause of a command's failure."""
    meaning: str
    """The meaning of the exit code."""
    advice: str
    """Advice about the failure: `look` and `remedy` in a sentence."""
    look: str
    """Where to look."""
    remedy: str
    """What to try."""
    failed_command: str | None
    """The failed command, if known."""
    file: str | None
    """The file with the failed command."""
    line: int | None
    """The line of that command, from 1."""
    last_line: int | None
    """The last line of a range that contains the command; equal to `line` if the exact line is known."""
    stream: LogStream
    """The log of `last_lines`; `batch` is the log of the batch script."""
    last_lines: tuple[str, ...]
    """The last lines of the log, at most ten."""


def failure_key(failure: JobFailure | None, reason: str) -> str:
    """Return what alike failures have in common, without numbers.

    It is the reason of the job's end, what ended the first task, and its last words.
    """
    task = (failure.what, failure.last_words or "".join(failure.last_lines[-1:])) if failure and failure.task else ()
    return _NUMBER.sub("0", "\n".join((reason, *task)))


def failure_rows(failure: JobFailure) -> list[tuple[str, str]]:
    """Return the known facts of a failure as (name, text), without the last lines of the log."""
    rows = [*_cause_rows(failure), *_rules(failure), *_advice(failure)]
    return [(name, text) for name, text in rows if text]


def cause_text(failure: JobFailure) -> str:
    """Return the first cause of a failure in a line, then a line each for its place, a remedy, and other tasks."""
    (name, first), *others = _cause_rows(failure)
    return "\n".join([f"{name} {one_line(first)}", *(f"  {what}: {one_line(text)}" for what, text in others if text)])


def failure_text(failure: JobFailure) -> str:
    """Return what explains a failure: its exit rule, the last lines of its log, and their usual meaning.

    With `cause_text`, it has at most MAX_BLOCK lines.
    """
    before = _rules(failure)
    rows = pairs_text((name, one_line(text)) for name, text in before + _advice(failure)).split("\n")
    place, [title, *lines] = sum(bool(text) for _, text in before), _last_lines(failure)
    room = MAX_BLOCK - len(cause_text(failure).split("\n")) - len(rows) - 1
    return "\n".join([*rows[:place], title, *lines[-room:], *rows[place:]])


def _rules(failure: JobFailure) -> list[tuple[str, str]]:
    return [("exit rule", failure.exit_rule), ("retries", failure.retry_rule)]


def _advice(failure: JobFailure) -> list[tuple[str, str]]:
    return [
        ("likely", failure.cause or ""),
        ("usually", failure.meaning),
        ("look at", failure.look),
    ]


def _cause_rows(failure: JobFailure) -> list[tuple[str, str]]:
    """Return the first cause, its place, a remedy, the cascade, the stopped tasks and the evidence, as (name, text)."""
    when = f"at {format_time(failure.ended_at)}: " if failure.ended_at else ""
    if failure.task is None:
        return [("failed", f"{when}{failure.what}"), ("try", failure.remedy)]
    where = f"{failure.task} on {failure.node or 'an unknown node'}"
    retry = f", {attempt_name(failure.task_attempt, 'task')}" if failure.task_attempt else ""
    words = f". Last words: {_cut(failure.last_words, MAX_WORDS)}" if failure.last_words else ""
    return [
        ("failed by", f"{where}{retry} {when}{failure.what}{words}"),
        ("command", _command_text(failure)),
        ("try", failure.remedy),
        ("cascade", _cascade_text(failure)),
        ("stopped by paislurm", _names(failure.stopped)),
        *((f"{failure.node or ''} reports", text) for text in failure.evidence[:MAX_EVIDENCE]),
    ]


def _cascade_text(failure: JobFailure) -> str:
    """Return how many tasks failed besides the first, how much later, and their names."""
    if failure.cascade_delays_ms is None:
        return f"{counted(len(failure.cascade), 'other')} failed: {_names(failure.cascade)}" if failure.cascade else ""
    least, most = (f"{delay / 1000:.1f}" for delay in failure.cascade_delays_ms)
    when = f"{least} s later" if least == most else f"{least} to {most} s later"
    return f"{counted(len(failure.cascade), 'other')} failed {when}: {_names(failure.cascade)}"


def _names(tasks: Iterable[str]) -> str:
    return _cut(folded(tasks))


def _command_text(failure: JobFailure) -> str:
    """Return the location and text of the failed command, or the range of lines that contains it."""
    if failure.file is None:
        return ""
    if failure.line != failure.last_line:
        return f"{failure.file}, one of lines {failure.line} to {failure.last_line}"
    text = f": {_cut(failure.failed_command, MAX_COMMAND)}" if failure.failed_command else ""
    return f"{failure.file}:{failure.line}{text}"


def _last_lines(failure: JobFailure) -> list[str]:
    name = STREAMS[failure.stream]
    if not failure.last_lines:
        return [f"{name} is empty"] if failure.task is None else ["the task printed nothing"]
    return [f"last lines of {name}:", *(f"  | {_cut(one_line(line))}" for line in failure.last_lines)]


def _cut(line: str, most: int = MAX_LINE) -> str:
    return line if len(line) <= most else f"{line[:most]}…"
