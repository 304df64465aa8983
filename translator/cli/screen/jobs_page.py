"""The page of all jobs: how many are in each state, a row for each job, and why the chosen one stands as it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...plural import counted
from ..context import user_name
from ..output.times import age, number
from .paint import counts_pieces, state_style
from .tasks import MARKS, counts_of, window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from ..jobs.listing import Line
    from .paint import Brush

MIN_NAME, MAX_NAME = 12, 40
BAR = 10
WIDE = 120
"""From so many columns on a row also has the reason."""
DETAIL_LINES = 4
"""So many lines below the rows are for the chosen job."""


def rows_that_fit(height: int) -> int:
    """Return how many rows of jobs the page has in a window of so many lines, of which none is for the footer."""
    return max(1, height - 2 - DETAIL_LINES)


def jobs_page(jobs: Sequence[Line], chosen: str, brush: Brush, height: int, now: int) -> list[Text]:
    """Return the lines of the page."""
    if not jobs:
        return [brush.line("no job fits")]
    place = next((k for k, job in enumerate(jobs) if job.name == chosen), 0)
    room = rows_that_fit(height)
    shown = window(place, len(jobs), room if len(jobs) <= room else room - 1)
    name_width = _name_width(jobs, brush.width)
    lines = [
        brush.line(*_totals(jobs)),
        brush.columns(_cells(_titles(), name_width, brush.width), style="bold"),
        *(_row(jobs[k], name_width, brush, now, chosen=k == place) for k in shown),
    ]
    hidden = [job for k, job in enumerate(jobs) if k not in shown]
    if hidden:
        words = ", ".join(f"{count} {state.lower()}" for state, count in counts_of(hidden))
        lines.append(brush.line((f"  and {len(hidden)} more: {words}", "dim")))
    return [*lines, *_details(jobs[place], brush)]


def short_name(job: str) -> str:
    """Return the name of a job as its user knows it."""
    return job.removeprefix(f"{user_name()}~")


def _totals(jobs: Sequence[Line]) -> list[str | tuple[str, str]]:
    return [(f"{counted(len(jobs), 'job')}", "bold"), "   ", *counts_pieces(counts_of(jobs))]


def _name_width(jobs: Sequence[Line], width: int) -> int:
    longest = max((len(short_name(job.name)) for job in jobs), default=0)
    room = width - sum(size for _, size in _FIXED) - 2 * len(_FIXED) - 2
    return max(MIN_NAME, min(longest, MAX_NAME, room))


_FIXED = (("STATE", 9), ("CODE", 5), ("ID", 8), ("", BAR), ("TASKS", 9), ("AGE", 4))
"""The columns behind the name, with their widths."""


def _titles() -> list[tuple[str, str]]:
    return [("  JOB", ""), *((title, "") for title, _ in _FIXED), ("WHY", "")]


def _cells(texts: Sequence[tuple[str, str]], name_width: int, width: int) -> list[tuple[str, int, str]]:
    sizes = [name_width + 4, *(size for _, size in _FIXED)]
    if width >= WIDE:
        sizes.append(width - sum(sizes) - 2 * len(sizes))
    return [(text, size, style) for (text, style), size in zip(texts, sizes, strict=False)]


def _row(job: Line, name_width: int, brush: Brush, now: int, *, chosen: bool) -> Text:
    style = state_style(job.state)
    done = job.task_count if job.completed is None and job.state == "SUCCEEDED" else job.completed or 0
    bar = brush.bar(done, job.task_count, BAR)
    begun = job.submitted_at or job.created_at
    texts = [
        (f"{'>' if chosen else ' '} {MARKS[job.state]} {short_name(job.name)}", "bold" if chosen else ""),
        (job.state, style),
        (number(job.exit_code), style if job.exit_code else ""),
        (job.job_id or "-", ""),
        bar if isinstance(bar, tuple) else (bar, ""),
        (f"{'-' if job.completed is None else done}/{job.task_count if job.readable else '-'}", ""),
        (age(now - begun) if begun else "-", ""),
        (job.reason, "dim"),
    ]
    return brush.columns(_cells(texts, name_width, brush.width), style="reverse" if chosen else "")


def _details(job: Line, brush: Brush) -> list[Text]:
    why = brush.paragraph(job.reason, 2)
    helps = brush.paragraph(f"what helps: {job.advice}", 1) if job.advice else []
    return [brush.rule(f"{short_name(job.name)} {job.state}, attempt {job.attempt}"), *why, *helps]
