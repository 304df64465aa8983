"""Rows and bars of the charts, in seconds since the start of each chart."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import Struct

from ..plural import attempt_name
from ..times import duration_text
from .model import PHASES, segments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..view.task import TaskView
    from .model import AttemptEntry, JobReport, Segment

MAX_TASKS = 40
"""The most tasks with a row each. In larger attempts, tasks of a role that did not fail share one row per state."""
MAX_FAILED = 12
"""The most failed tasks of a role with a row each in a larger attempt."""
BATCH_SCRIPT = "the batch script started"


class Bar(Struct, frozen=True, kw_only=True):
    """A phase in a row; `says` is the text for tooltips and screen readers."""

    row: str
    phase: str
    begins: int
    ends: int
    says: str


class Mark(Struct, frozen=True, kw_only=True):
    """A word at the end of a row; `failed` if it reports a failure."""

    row: str
    at: int
    text: str
    failed: bool


class Gantt(Struct, frozen=True, kw_only=True):
    """A chart of bars: its rows from the top, and its length in seconds `since` an event."""

    rows: tuple[str, ...]
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...]
    seconds: int
    since: str


def attempts_gantt(report: JobReport) -> Gantt:
    """Return the chart of a job's attempts."""
    start = min((s.begins for attempt in report.attempts for s in attempt.segments), default=report.now)
    bars: list[Bar] = []
    marks: list[Mark] = []
    for attempt in report.attempts:
        row = attempt_name(attempt.number)
        bars += _bars(row, attempt.segments, start)
        marks += _mark(row, attempt.segments, start, attempt.state, attempt.exit_code)
    return _gantt([attempt_name(attempt.number) for attempt in report.attempts], bars, marks, "submission")


def tasks_gantt(attempt: AttemptEntry) -> Gantt:
    """Return the chart of the tasks of an attempt, from the start of its batch script."""
    start = _start(attempt)
    many = len(attempt.tasks) > MAX_TASKS
    rows: list[str] = []
    bars: list[Bar] = []
    marks: list[Mark] = []
    for row, tasks in _rows_by_state(attempt.tasks) if many else ((task.name, [task]) for task in attempt.tasks):
        parts = attempt.timelines[tasks[0].name] if len(tasks) == 1 else _merged_segments(attempt, tasks)
        rows.append(row)
        bars += _bars(row, parts, start)
        if len(tasks) == 1:
            marks += _mark(row, parts, start, tasks[0].state, tasks[0].exit_code)
    return _gantt(rows, bars, marks, BATCH_SCRIPT)


def runs_gantt(reports: Sequence[JobReport]) -> Gantt:
    """Return the chart of several jobs, one row per job, each from the submission of that job."""
    bars: list[Bar] = []
    marks: list[Mark] = []
    names = short_names(reports)
    for report in reports:
        row = names[report.job.name]
        parts = [part for attempt in report.attempts for part in attempt.segments]
        start = min((part.begins for part in parts), default=0)
        bars += _bars(row, parts, start)
        marks += _mark(row, parts, start, report.job.state, report.job.exit_code)
        if parts and not report.job.ended:
            at = max(part.ends for part in parts) - start
            marks.append(Mark(row=row, at=at, text=report.job.state.lower(), failed=False))
    return _gantt(list(names.values()), bars, marks, "submission")


def short_names(reports: Sequence[JobReport]) -> dict[str, str]:
    """Return the labels of jobs by job name; if all have the same user, labels omit the user name."""
    one_user = len({report.job.user for report in reports}) == 1
    return {report.job.name: report.job.name.partition("~")[2] if one_user else report.job.name for report in reports}


def _start(attempt: AttemptEntry) -> int:
    begins = [part.begins for parts in attempt.timelines.values() for part in parts]
    return min(begins, default=attempt.started_at or 0)


def _bars(row: str, parts: Iterable[Segment], start: int) -> Iterator[Bar]:
    for part in parts:
        says = f"{row}: {part.phase} for {duration_text(part.ends - part.begins)}"
        yield Bar(row=row, phase=part.phase, begins=part.begins - start, ends=part.ends - start, says=says)


def _mark(row: str, parts: Sequence[Segment], start: int, state: str, code: int | None) -> Iterator[Mark]:
    if state in ("FAILED", "STOPPED"):
        at = max((part.ends for part in parts), default=start) - start
        failed = state == "FAILED"
        yield Mark(row=row, at=at, text=f"{state.lower()} {code}" if failed else "stopped", failed=failed)


def _rows_by_state(tasks: Sequence[TaskView]) -> Iterator[tuple[str, list[TaskView]]]:
    """Yield rows role by role: one for each failed task, then one for each other state."""
    by_role: defaultdict[str, defaultdict[str, list[TaskView]]] = defaultdict(lambda: defaultdict(list))
    for task in tasks:
        by_role[task.role][task.state].append(task)
    for role, by_state in by_role.items():
        failed = by_state.pop("FAILED", [])
        yield from ((task.name, [task]) for task in failed[:MAX_FAILED])
        if rest := failed[MAX_FAILED:]:
            yield f"{role}: {len(rest)} more failed", rest
        for state, found in by_state.items():
            yield f"{role}: {len(found)} {state.lower()}", found


def _merged_segments(attempt: AttemptEntry, tasks: Sequence[TaskView]) -> list[Segment]:
    """Merge the phases of several tasks; each phase starts when the first task enters it."""
    parts = [part for task in tasks for part in attempt.timelines[task.name]]
    first = {phase: min((p.begins for p in parts if p.phase == phase), default=None) for phase in PHASES}
    return list(segments(*first.items(), ends=max((part.ends for part in parts), default=None)))


def _gantt(rows: Sequence[str], bars: Sequence[Bar], marks: Sequence[Mark], since: str) -> Gantt:
    seconds = max([0, *(bar.ends for bar in bars), *(mark.at for mark in marks)])
    return Gantt(rows=tuple(rows), bars=tuple(bars), marks=tuple(marks), seconds=seconds, since=since)
