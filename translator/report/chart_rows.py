"""The rows and bars of the charts: seconds from the beginning of what a chart shows; many tasks share rows."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import Struct

from ..times import duration_text
from .model import PHASES, running_counts, segments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .model import AttemptEntry, JobReport, Segment, TaskEntry

MAX_TASKS = 40
"""Tasks that have a row each; of more, those that failed have, and the others of a role share one for each state."""
MAX_FAILED = 12
"""Tasks of a role that failed and have rows of their own all the same."""
BATCH_SCRIPT = "the batch script began"


class Bar(Struct, frozen=True, kw_only=True):
    """Draw a phase in a row; `says` is what it says to who does not see it."""

    row: str
    phase: str
    begins: int
    ends: int
    says: str


class Mark(Struct, frozen=True, kw_only=True):
    """Write a word at the end of a row, of what went wrong if `failed`."""

    row: str
    at: int
    text: str
    failed: bool


class Gantt(Struct, frozen=True, kw_only=True):
    """Hold a chart of bars: its rows in order, and how many seconds it spans `since` something."""

    rows: tuple[str, ...]
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...]
    seconds: int
    since: str


class Counts(Struct, frozen=True, kw_only=True):
    """Hold how many tasks of each role ran, by seconds `since` something."""

    points: tuple[tuple[str, int, int], ...]
    roles: tuple[str, ...]
    seconds: int
    since: str


def attempts_gantt(report: JobReport) -> Gantt:
    """Return the chart of a job's attempts."""
    zero = min((s.begins for attempt in report.attempts for s in attempt.segments), default=report.now)
    bars: list[Bar] = []
    marks: list[Mark] = []
    for attempt in report.attempts:
        row = f"attempt {attempt.number}"
        bars += _bars(row, attempt.segments, zero)
        marks += _mark(row, attempt.segments, zero, attempt.state, attempt.exit_code)
    return _gantt([f"attempt {attempt.number}" for attempt in report.attempts], bars, marks, "the submit")


def tasks_gantt(attempt: AttemptEntry) -> Gantt:
    """Return the chart of the tasks of an attempt; it begins where the batch script did."""
    zero = _zero(attempt)
    many = len(attempt.tasks) > MAX_TASKS
    rows: list[str] = []
    bars: list[Bar] = []
    marks: list[Mark] = []
    for row, tasks in _shared_rows(attempt.tasks) if many else ((task.name, [task]) for task in attempt.tasks):
        parts = tasks[0].segments if len(tasks) == 1 else _together(tasks)
        rows.append(row)
        bars += _bars(row, parts, zero)
        if len(tasks) == 1:
            marks += _mark(row, parts, zero, tasks[0].state, tasks[0].exit_code)
    return _gantt(rows, bars, marks, BATCH_SCRIPT)


def task_counts(attempt: AttemptEntry) -> Counts:
    """Return how many tasks of each role ran at a time."""
    zero = _zero(attempt)
    spans: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for task in attempt.tasks:
        spans[task.role] += [(s.begins - zero, s.ends - zero) for s in task.segments if s.phase != "waiting"]
    points = tuple((role, at, count) for role, found in spans.items() for at, count in running_counts(found))
    seconds = max((at for _, at, _ in points), default=0)
    return Counts(points=points, roles=tuple(spans), seconds=seconds, since=BATCH_SCRIPT)


def runs_gantt(reports: Sequence[JobReport]) -> Gantt:
    """Return the chart of several jobs, each from its own beginning, all attempts in a row."""
    bars: list[Bar] = []
    marks: list[Mark] = []
    names = short_names(reports)
    for report in reports:
        row = names[report.name]
        parts = [part for attempt in report.attempts for part in attempt.segments]
        zero = min((part.begins for part in parts), default=0)
        bars += _bars(row, parts, zero)
        marks += _mark(row, parts, zero, report.state, report.exit_code)
        if parts and not report.ended:
            at = max(part.ends for part in parts) - zero
            marks.append(Mark(row=row, at=at, text=report.state.lower(), failed=False))
    return _gantt(list(names.values()), bars, marks, "the submit")


def short_names(reports: Sequence[JobReport]) -> dict[str, str]:
    """Return what each job is called beside the others, by its name: jobs of one user without that user's name."""
    one_user = len({report.user for report in reports}) == 1
    return {report.name: report.name.partition("~")[2] if one_user else report.name for report in reports}


def _zero(attempt: AttemptEntry) -> int:
    begins = [part.begins for task in attempt.tasks for part in task.segments]
    return min(begins, default=attempt.started_at or 0)


def _bars(row: str, parts: Iterable[Segment], zero: int) -> Iterator[Bar]:
    for part in parts:
        says = f"{row}: {part.phase} for {duration_text(part.ends - part.begins)}"
        yield Bar(row=row, phase=part.phase, begins=part.begins - zero, ends=part.ends - zero, says=says)


def _mark(row: str, parts: Sequence[Segment], zero: int, state: str, code: int | None) -> Iterator[Mark]:
    if state in ("FAILED", "STOPPED"):
        at = max((part.ends for part in parts), default=zero) - zero
        failed = state == "FAILED"
        yield Mark(row=row, at=at, text=f"{state.lower()} {code}" if failed else "stopped", failed=failed)


def _shared_rows(tasks: Sequence[TaskEntry]) -> Iterator[tuple[str, list[TaskEntry]]]:
    """Yield the rows of many tasks, those of a role together: each that failed, then what the others came to."""
    by_role: defaultdict[str, defaultdict[str, list[TaskEntry]]] = defaultdict(lambda: defaultdict(list))
    for task in tasks:
        by_role[task.role][task.state].append(task)
    for role, by_state in by_role.items():
        failed = by_state.pop("FAILED", [])
        yield from ((task.name, [task]) for task in failed[:MAX_FAILED])
        if rest := failed[MAX_FAILED:]:
            yield f"{role}: {len(rest)} more failed", rest
        for state, found in by_state.items():
            yield f"{role}: {len(found)} {state.lower()}", found


def _together(tasks: Sequence[TaskEntry]) -> list[Segment]:
    """Return the phases of several tasks as one: each from when the first task came to it."""
    parts = [part for task in tasks for part in task.segments]
    first = {phase: min((p.begins for p in parts if p.phase == phase), default=None) for phase in PHASES}
    return list(segments(*first.items(), ends=max((part.ends for part in parts), default=None)))


def _gantt(rows: Sequence[str], bars: Sequence[Bar], marks: Sequence[Mark], since: str) -> Gantt:
    seconds = max([0, *(bar.ends for bar in bars), *(mark.at for mark in marks)])
    return Gantt(rows=tuple(rows), bars=tuple(bars), marks=tuple(marks), seconds=seconds, since=since)
