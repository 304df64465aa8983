"""The page of all jobs: how many are in each state, a row for each job, and why the chosen one stands as it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...plural import counted
from ...times import age, elapsed, elapsed_text, number
from .paint import counts_pieces, state_style
from .rows import GROUP
from .tasks import MARKS, counts_of, window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from ...app.jobs.listing import Line
    from ...app.session import Session
    from .paint import Brush, Piece

MIN_NAME, MAX_NAME = 12, 40
BAR = 10
WIDE, WIDER = 120, 140
"""From so many columns on a row also has the reason, and how long the job has run of its time limit."""
HEAD_LINES, DETAIL_LINES = 2, 4
"""So many lines are above the rows, and so many lines below the rows are for the chosen job."""


def rows_that_fit(height: int) -> int:
    """Return how many rows of jobs the page has in a window of so many lines, of which none is for the footer."""
    return max(1, height - HEAD_LINES - DETAIL_LINES)


def jobs_page(
    session: Session, jobs: Sequence[Line], rows: Sequence[Line], chosen: str, brush: Brush, height: int, now: int
) -> list[Text]:
    """Return the lines of the page: how many jobs there are, and their rows."""
    if not rows:
        return [brush.line("no job fits")]
    place = next((k for k, row in enumerate(rows) if row.name == chosen), 0)
    room = rows_that_fit(height)
    shown = window(place, len(rows), room if len(rows) <= room else room - 1)
    columns = _columns(_name_width(session, rows, brush.width), brush.width)
    lines = [
        brush.line(*_totals(jobs)),
        brush.columns([(title if title != "JOB" else "  JOB", size, "") for title, size in columns], style="bold"),
        *(_row(session, rows[k], columns, brush, now, chosen=k == place) for k in shown),
    ]
    hidden = [row for k, row in enumerate(rows) if k not in shown]
    if hidden:
        words = ", ".join(f"{count} {state.lower()}" for state, count in counts_of(hidden))
        lines.append(brush.line((f"  and {len(hidden)} more: {words}", "dim")))
    return [*lines, *_details(session, rows[place], brush)]


def short_name(session: Session, job: str) -> str:
    """Return the name of a job as its user knows it."""
    return job.removeprefix(f"{session.user}~")


def _totals(jobs: Sequence[Line]) -> list[str | tuple[str, str]]:
    return [(f"{counted(len(jobs), 'job')}", "bold"), "   ", *counts_pieces(counts_of(jobs))]


def _name_width(session: Session, jobs: Sequence[Line], width: int) -> int:
    longest = max((len(short_name(session, job.name)) for job in jobs), default=0)
    room = width - sum(size + 2 for _, size in _FIXED) - _MARKS
    return max(MIN_NAME, min(longest, MAX_NAME, room))


_MARKS = 4
"""Columns before a name: whether it is chosen, and the mark of its state."""
_FIXED = (("STATE", 9), ("CODE", 5), ("ID", 8), ("", BAR), ("TASKS", 9), ("AGE", 4))
"""The columns behind the name, with their widths."""
_BEFORE_CAUSE = 4
"""A job that failed has behind so many columns only why."""


def _columns(name_width: int, width: int) -> list[tuple[str, int]]:
    """Return the titles of the columns and their widths; the reasons have the rest of the row."""
    found = [("JOB", name_width + _MARKS), *_FIXED]
    if width >= WIDER:
        found.append(("ELAPSED/LIMIT", 19))
    return [*found, ("WHY", _rest(found, width))] if width >= WIDE else found


def _rest(columns: Sequence[tuple[str, int]], width: int) -> int:
    return max(0, width - sum(size + 2 for _, size in columns))


def _row(
    session: Session, job: Line, columns: Sequence[tuple[str, int]], brush: Brush, now: int, *, chosen: bool
) -> Text:
    style = state_style(job.state)
    done = job.task_count if job.completed is None and job.state == "SUCCEEDED" else job.completed or 0
    begun = job.submitted_at or job.created_at
    ran = elapsed(job.runs_since, job.ended_at, now)
    texts: dict[str, Piece] = {
        "JOB": (
            f"{'>' if chosen else ' '} {MARKS[job.state]} {short_name(session, job.name)}",
            "bold" if chosen else "",
        ),
        "STATE": (job.state, style),
        "CODE": (number(job.exit_code), style if job.exit_code else ""),
        "ID": job.job_id or "-",
        "": brush.bar(done, job.task_count, BAR, failed=job.state == "FAILED"),
        "TASKS": f"{'-' if job.completed is None else done}/{job.task_count if job.readable else '-'}",
        "AGE": age(now - begun) if begun else "-",
        "ELAPSED/LIMIT": f"{ran}/{elapsed_text(job.time_limit)}" if job.time_limit else ran,
        "WHY": (job.reason, "dim"),
    }
    if job.ended and job.state != "SUCCEEDED" and job.reason:
        columns = [*columns[:_BEFORE_CAUSE], ("WHY", _rest(columns[:_BEFORE_CAUSE], brush.width))]
        texts["WHY"] = (job.reason, style)
    pieces = [(texts[title], size) for title, size in columns]
    cells = [(text, size, "") if isinstance(text, str) else (text[0], size, text[1]) for text, size in pieces]
    return brush.columns(cells, style="reverse" if chosen else "")


def _details(session: Session, job: Line, brush: Brush) -> list[Text]:
    why = brush.paragraph(job.reason, 2)
    helps = brush.paragraph(f"what helps: {job.advice}", 1) if job.advice else []
    attempt = "" if job.name.startswith(GROUP) else f", attempt {job.attempt}"
    return [brush.rule(f"{short_name(session, job.name)} {job.state}{attempt}"), *why, *helps]
