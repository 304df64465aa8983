"""Jobs and tasks as they are looked at: in which order, which first, and the mark of each state. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ...folded_names import by_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...app.jobs.listing import Line
    from ...monitor.task_status import TaskView

MARKS: dict[str, str] = {
    "FAILED": "X",
    "UNKNOWN": "?",
    "STOPPING": "~",
    "RUNNING": "r",
    "WAITING": ".",
    "STOPPED": "-",
    "SUCCEEDED": "+",
}
"""The mark of each state, by which it is told without colours; the most urgent state first."""
URGENCY = {state: place for place, state in enumerate(MARKS)}
GROUP = 10
"""So many tasks of a row stand together."""


def urgent_first(jobs: Iterable[Line]) -> list[Line]:
    """Return jobs with the most urgent state first, and of those of one state the newest."""
    return sorted(
        jobs, key=lambda job: (URGENCY[job.state], -(job.submitted_at or job.created_at), by_numbers(job.name))
    )


def filtered(jobs: Iterable[Line], words: str) -> list[Line]:
    """Return the jobs that have every word in their name or state, large or small letters alike."""
    wanted = words.lower().split()
    return [job for job in jobs if all(word in f"{job.name} {job.state}".lower() for word in wanted)]


def counts_of(things: Iterable[Line | TaskView]) -> list[tuple[str, int]]:
    """Return how many are in each state that there is, the most urgent first."""
    counted = Counter(thing.state for thing in things)
    return [(state, counted[state]) for state in MARKS if counted[state]]


def label(task: TaskView) -> str:
    """Return the name of a task, `worker-0`."""
    return f"{task.role}-{task.index}"


def failed(tasks: Iterable[TaskView]) -> list[TaskView]:
    """Return the tasks that failed, the one that did so last first."""
    return sorted((task for task in tasks if task.state == "FAILED"), key=lambda task: -(task.ended_at or 0))


def first_to_look_at(tasks: Sequence[TaskView]) -> TaskView | None:
    """Return the task that failed last, else the first that runs, else the first of all."""
    chosen = [*failed(tasks)[:1], *(task for task in tasks if task.state in ("RUNNING", "STOPPING")), *tasks]
    return chosen[0] if chosen else None


def find(tasks: Sequence[TaskView], name: str) -> TaskView | None:
    """Return the task of a name; without one, or if there is none of it, the first to look at."""
    return next((task for task in tasks if name and label(task) == name), None) or first_to_look_at(tasks)


def grid(tasks: Sequence[TaskView], per_row: int) -> list[list[TaskView]]:
    """Return tasks in rows of at most `per_row`; a row has tasks of one role."""
    rows: list[list[TaskView]] = []
    for task in tasks:
        if not rows or len(rows[-1]) == per_row or rows[-1][0].role != task.role:
            rows.append([])
        rows[-1].append(task)
    return rows


def name_width(tasks: Sequence[TaskView], width: int) -> int:
    """Return how wide the column of the first task's name of each row is, in a window of that width."""
    longest = max((len(label(task)) for task in tasks), default=0)
    return min(longest, width // 4)


def tasks_per_row(tasks: Sequence[TaskView], width: int) -> int:
    """Return how many tasks a row has: whole groups, so that they can be counted."""
    groups = (width - name_width(tasks, width) - 2) // (GROUP + 1)
    return max(1, groups) * GROUP


def moved(rows: Sequence[Sequence[TaskView]], chosen: TaskView, key: str) -> TaskView:
    """Return the task that an arrow key leads to; at the border, the same."""
    y = next(y for y, row in enumerate(rows) if chosen in row)
    x = rows[y].index(chosen)
    if key in ("left", "right"):
        flat = [task for row in rows for task in row]
        place = flat.index(chosen) + (1 if key == "right" else -1)
        return flat[max(0, min(place, len(flat) - 1))]
    y = max(0, min(y + (1 if key == "down" else -1), len(rows) - 1))
    return rows[y][min(x, len(rows[y]) - 1)]


def next_failed(tasks: Sequence[TaskView], chosen: TaskView) -> TaskView:
    """Return the next task that failed, in the order of the job file; the same where none did."""
    place = tasks.index(chosen) + 1
    return next((task for task in (*tasks[place:], *tasks[:place]) if task.state == "FAILED"), chosen)


def window(chosen: int, count: int, height: int) -> range:
    """Return which of `count` rows are shown in a window of that height, so that the chosen one is."""
    start = max(0, min(chosen - height // 2, count - height))
    return range(start, min(count, start + max(0, height)))
