"""The whole screen: a page, and below it the keys, a question, or a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from .job_page import job_page
from .jobs_page import fitting, job_rows, rows_of, rows_that_fit, short_name, totals
from .paint import ASCII, UNICODE, Brush
from .state import Sight, chosen_job
from .tasks import MARKS, tasks_per_row

if TYPE_CHECKING:
    from ...app.session import Session
    from .state import State, World

FOOTERS = {
    "jobs": "enter open  c cancel  / filter  ? help  q quit",
    "job": "esc back  n next failed  e stderr  s shell  c cancel  ? help  q quit",
}
HELP = (
    ("arrows, j, k", "choose a job or a task; in the list also page up, page down, home, end"),
    ("enter", "open the group or the job"),
    ("esc", "go back"),
    ("e", "switch between standard error and standard output"),
    ("n", "go to the next failed task"),
    ("s", "open a shell in the task, if it runs; `exit` returns to this screen"),
    ("c", "cancel the job, or all jobs of the group, after confirmation"),
    ("/", "show only jobs whose name or state contains these words"),
    ("q, ctrl-c", "quit; jobs continue"),
)
MIN_HEIGHT = 4


def sight_of(world: World, state: State, width: int, height: int) -> Sight:
    """Return the names and sizes that keys act on."""
    tasks = world.job.tasks if world.job is not None and world.job.name == state.job else ()
    rows = rows_of(fitting(world.jobs, state))
    room = rows_that_fit(height - 1)
    ended = frozenset(job.name for job in (*rows, *world.jobs) if job.ended)
    if world.job is not None and world.job.ended:
        ended |= {world.job.name}
    return Sight(
        jobs=[row.name for row in rows], tasks=tasks, per_row=tasks_per_row(tasks, width), height=room, ended=ended,
        stream=world.tail.stream,
    )  # fmt: skip


def frame(session: Session, world: World, state: State, width: int, height: int, *, unicode: bool = True) -> list[Text]:
    """Return the lines of the screen, `height` of them."""
    brush, height = Brush(width, UNICODE if unicode else ASCII), max(height, MIN_HEIGHT)
    foot = _footer(session, world, state, brush)
    room = height - len(foot)
    lines = page(session, world, state, brush, room)[:room]
    return [*lines, *([Text("", end="")] * (room - len(lines))), *foot]


def page(session: Session, world: World, state: State, brush: Brush, height: int) -> list[Text]:
    """Return the lines of the current page, without the footer."""
    if state.question == "help":
        marks = ", ".join(f"{mark} {state.lower()}" for state, mark in MARKS.items())
        keys = [line for keys, what in HELP for line in brush.entry(keys, 12, what)]
        return [brush.line(("Keys", "bold")), *keys, brush.line(), *brush.paragraph(f"marks: {marks}", 3)]
    if state.page == "jobs":
        if not world.polled:
            return [brush.line("loading jobs ...")]
        jobs = fitting(world.jobs, state)
        rows = rows_of(jobs)
        if not rows:
            return [brush.line("no matching job")]
        chosen = chosen_job(state, [row.name for row in rows])
        return [brush.line(*totals(jobs)), *job_rows(session, rows, world.notes, chosen, brush, height)]
    if world.job is not None and world.job.name != state.job:
        return [brush.line(f"loading {short_name(session, state.job)} ...")]
    return job_page(session, world, state, brush, height)


def _footer(session: Session, world: World, state: State, brush: Brush) -> list[Text]:
    lines = brush.paragraph(f"states may be old: {world.problem}", 2, "yellow") if world.problem else []
    if state.question == "cancel":
        return [
            *lines,
            brush.line((f"cancel {short_name(session, state.job)}? y: yes, any other key: no", "bold reverse")),
        ]
    if state.question == "words":
        return [*lines, brush.line((f"filter: {state.words}_", "bold"), ("  enter: done, esc: all", "dim"))]
    if state.question == "help":
        return [*lines, brush.line(("any key: back", "dim"))]
    if state.message:
        return [*lines, brush.line((state.message, "bold"))]
    shown = {"group": state.group, "only": state.words} if state.page == "jobs" else {}
    only = "".join(f"  {name}: {words}" for name, words in shown.items() if words)
    return [*lines, brush.line((FOOTERS[state.page] + only, "dim"))]
