"""The page of all jobs: the number in each state, a row for each job, and the reason of the chosen one's state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...app.jobs.live import Note
from ...plural import attempt_name, counted
from ...times import age, elapsed_text, number
from ...view.line import waiting_here
from .paint import counts_pieces, state_style
from .tasks import MARKS, URGENCY, counts_of, filtered, urgent_first, window

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.text import Text

    from ...app.session import Session
    from ...view.line import JobLine
    from .paint import Brush, Piece
    from .state import State

MIN_NAME, MAX_NAME = 12, 40
BAR = 10
WIDE, WIDER = 120, 140
"""The least width for the columns of the reason and of the elapsed time."""
HEAD_LINES, DETAIL_LINES = 2, 4
"""Lines above the rows, and lines below them for the chosen job."""


def rows_that_fit(height: int) -> int:
    """Return the number of rows of jobs on a page of `height` lines, without the footer."""
    return max(1, height - HEAD_LINES - DETAIL_LINES)


def job_rows(
    session: Session,
    rows: Sequence[JobLine],
    notes: Mapping[str, Note],
    chosen: str,
    brush: Brush,
    height: int,
) -> list[Text]:
    """Return the lines below the number of jobs: their rows, and details of the chosen one."""
    place = next((k for k, row in enumerate(rows) if row.name == chosen), 0)
    room = rows_that_fit(height)
    shown = window(place, len(rows), room if len(rows) <= room else room - 1)
    columns = _columns(_name_width(session, rows, brush.width), brush.width)
    lines = [
        brush.columns([(title if title != "JOB" else "  JOB", size, "") for title, size in columns], style="bold"),
        *(_row(session, rows[k], _note(rows[k], notes), columns, brush, chosen=k == place) for k in shown),
    ]
    hidden = [row for k, row in enumerate(rows) if k not in shown]
    if hidden:
        words = ", ".join(f"{count} {state.lower()}" for state, count in counts_of(hidden))
        lines.append(brush.line((f"  and {len(hidden)} more: {words}", "dim")))
    return [*lines, *_details(session, rows[place], _note(rows[place], notes), brush)]


def short_name(session: Session, job: str) -> str:
    """Return the name of a job, without the user's own `user~`."""
    return job.removeprefix(f"{session.user}~")


def totals(jobs: Sequence[JobLine]) -> list[str | tuple[str, str]]:
    waits = waiting_here(jobs)
    pieces = [(f"{counted(len(jobs), 'job')}", "bold"), "   ", *counts_pieces(counts_of(jobs))]
    return [*pieces, (f"   {waits}", "dim")] if waits else pieces


def _name_width(session: Session, jobs: Sequence[JobLine], width: int) -> int:
    longest = max((len(short_name(session, job.name)) for job in jobs), default=0)
    room = width - sum(size + 2 for _, size in _FIXED) - _MARKS
    return max(MIN_NAME, min(longest, MAX_NAME, room))


_MARKS = 4
"""Characters before a name: the cursor, and the mark of the state."""
_FIXED = (("STATE", 9), ("CODE", 5), ("ID", 8), ("", BAR), ("TASKS", 9), ("AGE", 4))
"""The columns after the name, with their widths."""
_BEFORE_CAUSE = 4
"""The number of columns before the reason in the row of a failed job."""


def _columns(name_width: int, width: int) -> list[tuple[str, int]]:
    """Return the titles and the widths of the columns; the reasons get the rest of the row."""
    found = [("JOB", name_width + _MARKS), *_FIXED]
    if width >= WIDER:
        found.append(("ELAPSED/LIMIT", 19))
    return [*found, ("WHY", _rest(found, width))] if width >= WIDE else found


def _rest(columns: Sequence[tuple[str, int]], width: int) -> int:
    return max(0, width - sum(size + 2 for _, size in columns))


def _note(job: JobLine, notes: Mapping[str, Note]) -> Note:
    """Return why a job has its state, beginning with its note: the stall, or the last words of a failed task."""
    note = notes.get(job.name, Note())
    return note._replace(text="; ".join(filter(None, (note.text, job.reason))))


def _row(
    session: Session,
    job: JobLine,
    why: Note,
    columns: Sequence[tuple[str, int]],
    brush: Brush,
    *,
    chosen: bool,
) -> Text:
    style = state_style("FAILED" if why.is_stall else job.state)
    done = job.task_count if job.completed is None and job.state == "SUCCEEDED" else job.completed or 0
    begun, now = job.begun_at, session.now()
    ran = elapsed_text(job.elapsed(now))
    texts: dict[str, Piece] = {
        "JOB": (
            f"{'>' if chosen else ' '} {MARKS[job.state]} {short_name(session, job.name)}",
            "bold" if chosen else "",
        ),
        "STATE": ("STALLED" if why.is_stall else job.state, style),
        "CODE": (number(job.exit_code), style if job.exit_code else ""),
        "ID": job.job_id or "-",
        "": brush.bar(done, job.task_count, BAR, failed=job.state == "FAILED"),
        "TASKS": f"{'-' if job.completed is None else done}/{job.task_count if job.readable else '-'}",
        "AGE": age(now - begun) if begun else "-",
        "ELAPSED/LIMIT": f"{ran}/{elapsed_text(job.time_limit)}" if job.time_limit else ran,
        "WHY": (why.text, "dim"),
    }
    if ((job.ended and job.state != "SUCCEEDED") or why.is_stall) and why.text:
        columns = [*columns[:_BEFORE_CAUSE], ("WHY", _rest(columns[:_BEFORE_CAUSE], brush.width))]
        texts["WHY"] = (why.text, style)
    pieces = [(texts[title], size) for title, size in columns]
    cells = [(text, size, "") if isinstance(text, str) else (text[0], size, text[1]) for text, size in pieces]
    return brush.columns(cells, style="reverse" if chosen else "")


def _details(session: Session, job: JobLine, note: Note, brush: Brush) -> list[Text]:
    why = brush.paragraph(note.text, 2)
    helps = brush.paragraph(f"advice: {job.advice}", 1) if job.advice else []
    attempt = "" if job.name.startswith(GROUP) else f", {attempt_name(job.attempt)}"
    return [brush.rule(f"{short_name(session, job.name)} {job.state}{attempt}"), *why, *helps]


GROUP = "group "
"""The prefix of a group's row; no job's name contains a blank."""


def fitting(jobs: Iterable[JobLine], state: State) -> list[JobLine]:
    """Return the jobs that match the filter, in the open group if any."""
    return [job for job in filtered(jobs, state.words) if state.group in ("", job.group or "")]


def rows_of(jobs: Iterable[JobLine]) -> list[JobLine]:
    """Return the rows for jobs, the most urgent first. If all belong to one group, each gets a row."""
    groups: dict[str | None, list[JobLine]] = {}
    for job in jobs:
        groups.setdefault(job.group, []).append(job)
    rows: list[JobLine] = []
    for name, members in groups.items():
        rows += [_group(name, members)] if name and len(members) > 1 and len(groups) > 1 else members
    return urgent_first(rows)


def _group(name: str, jobs: Sequence[JobLine]) -> JobLine:
    """Return a line for a group, with its jobs in place of tasks."""
    urgent = min(jobs, key=lambda job: URGENCY[job.state])
    counts = ", ".join(f"{count} {state.lower()}" for state, count in counts_of(jobs))
    return replace(
        max(jobs, key=lambda job: job.begun_at),
        name=GROUP + name,
        state=urgent.state,
        exit_code=None,
        job_id=None,
        completed=sum(job.ended for job in jobs),
        task_count=len(jobs),
        ended=all(job.ended for job in jobs),
        reason="; ".join(filter(None, (counts, waiting_here(jobs)))),
        advice=None,
        started_at=None,
        time_limit=None,
    )
