"""The page of one job: its tasks as marks, and the last lines of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells

from ...plural import attempt_name, used_text
from ...times import age, elapsed_text, number
from .jobs_page import short_name
from .paint import counts_pieces, state_style
from .tasks import GROUP, MARKS, counts_of, failed, find, grid, name_width, tasks_per_row, window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from ...app.jobs.live import Tail
    from ...app.session import Session
    from ...view.jobs import JobView
    from ...view.task import TaskView
    from .paint import Brush, Piece
    from .state import State, World

BAR = 30
MIN_LOG = 6
"""The least number of lines for a log, with the rule above them."""


def job_page(session: Session, world: World, state: State, brush: Brush, height: int) -> list[Text]:
    """Return the lines of the page of the open job."""
    job = world.job
    if job is None:
        return [brush.line(f"loading {short_name(session, state.job)} ...")]
    chosen = find(job.tasks, state.task)
    lines = _head(session, job, world, brush)
    if chosen is None:
        return [*lines, *brush.paragraph(job.reason or "", 3)]
    lines.append(brush.line(*counts_pieces(counts_of(job.tasks))))
    lines += _usages(world, brush)
    bad = _failures(job.tasks, brush)
    room = max(1, height - len(lines) - len(bad) - MIN_LOG)
    lines += _grid(job.tasks, chosen, brush, room) + bad
    return lines + _log(world.tail, chosen, state, brush, height - len(lines))


def _head(session: Session, job: JobView, world: World, brush: Brush) -> list[Text]:
    now = session.now()
    begun, seconds = job.begun_at, job.elapsed(now)
    about = [f"job {job.job_id}" if job.job_id else "", attempt_name(job.attempt) if job.attempt else ""]
    about.append(f"submitted {age(now - begun)} ago" if begun else "")
    if seconds is not None:
        about.append(f"ran {elapsed_text(seconds)}" + (f" of {elapsed_text(job.time_limit)}" if job.time_limit else ""))
    name: Piece = (short_name(session, job.name), "bold")
    state: Piece = (job.state_text, state_style(job.state))
    rest = "  ".join(filter(None, about))
    fits = sum(map(cell_len, (name[0], state[0], rest))) + 4 <= brush.width
    title = [brush.line(name, "  ", state, "  ", rest)] if fits else [brush.line(name), brush.line(state, "  ", rest)]
    lines = [*title, *brush.paragraph(job.reason or _last_end(job), 2)]
    if job.stall is not None and not job.ended:
        lines += brush.paragraph(f"stalled: {job.stall.reason}", 2, state_style("FAILED"))
    if world.progress is not None and world.progress.words:
        progress = world.progress
        failed = bool(progress.failed)
        bar = [brush.bar(progress.done, progress.total, BAR, failed=failed), " "] if progress.total else []
        lines.append(brush.line(*bar, progress.words))
    return lines


def _usages(world: World, brush: Brush) -> list[Text]:
    """Return the average usage of a task, for each role of the open job."""
    name, usages = world.usages
    job = world.job
    if job is None or name != job.name or not job.tasks or job.ended:
        return []
    texts = (
        f"{usage.role} "
        + used_text(
            usage.cpus_busy, usage.used_memory_mib, usage.max_memory_mib, usage.gpu_percent, usage.gpu_memory_mib
        )
        for usage in usages
    )
    return brush.paragraph("average usage of a task: " + "; ".join(texts), 2) if usages else []


def _last_end(job: JobView) -> str:
    """Return why the job was retried; "" during the first attempt."""
    if not job.attempts:
        return ""
    last = job.attempts[-1]
    return f"{attempt_name(last.attempt)} ended: {last.reason}; {last.retry_rule}"


def _grid(tasks: Sequence[TaskView], chosen: TaskView, brush: Brush, height: int) -> list[Text]:
    """Return a mark for each task, in rows with the name of their first task; hidden tasks are counted."""
    rows = grid(tasks, tasks_per_row(tasks, brush.width))
    place = next(k for k, row in enumerate(rows) if chosen in row)
    shown = window(place, len(rows), height if len(rows) <= height else max(1, height - 1))
    names = name_width(tasks, brush.width)
    lines = []
    for k in shown:
        pieces: list[Piece] = [(f"{rows[k][0].name[-names:]:<{names}}  ", "dim")]
        for column, task in enumerate(rows[k]):
            gap = " " if column and column % GROUP == 0 else ""
            pieces += [gap, (MARKS[task.state], state_style(task.state) + (" reverse" if task is chosen else ""))]
        lines.append(brush.line(*pieces))
    hidden = [task for k, row in enumerate(rows) if k not in shown for task in row]
    if hidden and height > 1:
        words = ", ".join(f"{count} {state.lower()}" for state, count in counts_of(hidden))
        lines.append(brush.line((f"and {len(hidden)} more: {words}", "dim")))
    return lines


def _failures(tasks: Sequence[TaskView], brush: Brush) -> list[Text]:
    """Return the names of failed tasks, the last first, and the number of those that do not fit."""
    bad = failed(tasks)
    if not bad:
        return []
    last = f"{bad[0].name} (code {number(bad[0].exit_code)}{f' on {bad[0].node}' if bad[0].node else ''})"
    texts = [last, *(task.name for task in bad[1:])]
    shown = len(texts)
    while shown > 1 and len(_failure_words(texts, shown)) > brush.width:
        shown -= 1
    return [brush.line((_failure_words(texts, shown), state_style("FAILED")))]


def _failure_words(texts: Sequence[str], shown: int) -> str:
    more = f" and {len(texts) - shown} more" if shown < len(texts) else ""
    return "X failed: " + ", ".join(texts[:shown]) + more


def _log(tail: Tail, task: TaskView, state: State, brush: Brush, height: int) -> list[Text]:
    """Return the last lines of a task under a rule; long lines are wrapped."""
    if height < 2:
        return []
    title = f"{task.name} {MARKS[task.state]} {task.state}"
    title += ", which waits for background processes" * (task.background_began_at is not None)
    if (tail.job, tail.task) != (state.job, task.name) or state.stream not in ("", tail.stream):
        return [brush.rule(title)]
    title += f", {tail.stream}"
    folded = [piece for line in tail.lines for piece in chop_cells(line, brush.width) or [""]]
    lines = [brush.line(text) for text in folded[-(height - 1) :]]
    if not lines:
        lines = [brush.line(("no output yet" if task.started_at else "not started yet", "dim"))]
    return [brush.rule(title), *lines]
