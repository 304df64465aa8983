"""The order and the choice of jobs and tasks on the screen, and the mark of each state. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ...folded_names import by_numbers
from ...times import seconds_since_1970

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...view.line import JobLine
    from ...view.task import TaskView

MARKS: dict[str, str] = {
    "FAILED": "X",
    "UNKNOWN": "?",
    "STOPPING": "~",
    "RUNNING": "r",
    "WAITING": ".",
    "STOPPED": "-",
    "SUCCEEDED": "+",
}
"""The mark of each state, for use without colours; the most urgent state first."""
URGENCY = {state: place for place, state in enumerate(MARKS)}
GROUP = 10
"""Tasks between two gaps in a row."""


def urgent_first(jobs: Iterable[JobLine]) -> list[JobLine]:
    """Return jobs with the most urgent state first, the newest first within a state."""
    return sorted(jobs, key=lambda job: (URGENCY[job.state], -job.begun_at, by_numbers(job.name)))


def filtered(jobs: Iterable[JobLine], words: str) -> list[JobLine]:
    """Return the jobs whose name or state contains every word, ignoring case."""
    wanted = words.lower().split()
    return [job for job in jobs if all(word in f"{job.name} {job.state}".lower() for word in wanted)]


def counts_of(things: Iterable[JobLine | TaskView]) -> list[tuple[str, int]]:
    """Return the number in each state that occurs, the most urgent first."""
    counted = Counter[str](thing.state for thing in things)
    return [(state, counted[state]) for state in MARKS if counted[state]]


def failed(tasks: Iterable[TaskView]) -> list[TaskView]:
    """Return the failed tasks, the latest failure first."""
    return sorted(
        (task for task in tasks if task.state == "FAILED"), key=lambda task: -(seconds_since_1970(task.ended_at) or 0)
    )


def first_to_look_at(tasks: Sequence[TaskView]) -> TaskView | None:
    """Return the task that failed last, else the first running one, else the first."""
    chosen = [*failed(tasks)[:1], *(task for task in tasks if task.state in ("RUNNING", "STOPPING")), *tasks]
    return chosen[0] if chosen else None


def find(tasks: Sequence[TaskView], name: str) -> TaskView | None:
    """Return the task with a name; if there is none, `first_to_look_at`."""
    return next((task for task in tasks if name and task.name == name), None) or first_to_look_at(tasks)


def grid(tasks: Sequence[TaskView], per_row: int) -> list[list[TaskView]]:
    """Return tasks in rows of at most `per_row`; a row contains tasks of one role."""
    rows: list[list[TaskView]] = []
    for task in tasks:
        if not rows or len(rows[-1]) == per_row or rows[-1][0].role != task.role:
            rows.append([])
        rows[-1].append(task)
    return rows


def name_width(tasks: Sequence[TaskView], width: int) -> int:
    """Return the width of the column with the name of each row's first task."""
    longest = max((len(task.name) for task in tasks), default=0)
    return min(longest, width // 4)


def tasks_per_row(tasks: Sequence[TaskView], width: int) -> int:
    """Return the number of tasks in a row, a multiple of GROUP."""
    groups = (width - name_width(tasks, width) - 2) // (GROUP + 1)
    return max(1, groups) * GROUP


def moved(rows: Sequence[Sequence[TaskView]], chosen: TaskView, key: str) -> TaskView:
    """Return the task in the direction of an arrow key; at the border, the same task."""
    y = next(y for y, row in enumerate(rows) if chosen in row)
    x = rows[y].index(chosen)
    if key in ("left", "right"):
        flat = [task for row in rows for task in row]
        place = flat.index(chosen) + (1 if key == "right" else -1)
        return flat[max(0, min(place, len(flat) - 1))]
    y = max(0, min(y + (1 if key == "down" else -1), len(rows) - 1))
    return rows[y][min(x, len(rows[y]) - 1)]


def next_failed(tasks: Sequence[TaskView], chosen: TaskView) -> TaskView:
    """Return the next failed task, in the order of the job file; the same task if none failed."""
    place = tasks.index(chosen) + 1
    return next((task for task in (*tasks[place:], *tasks[:place]) if task.state == "FAILED"), chosen)


def window(chosen: int, count: int, height: int) -> range:
    """Return the visible ones of `count` rows, with the chosen one among them."""
    start = max(0, min(chosen - height // 2, count - height))
    return range(start, min(count, start + max(0, height)))
