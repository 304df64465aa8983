"""The tasks of a job as rows of a table: those that failed first, and those that are alike in one row. Pure."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from ...folded_names import folded, ranges
from ...times import format_time, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...monitor.task_status import TaskView

COLUMNS = ("task", "state", "node", "exit status", "exit code", "retry", "started", "ended")
FEW = 20
"""So many tasks are shown one by one."""
MAX_FAILED = 10
"""So many failed tasks are shown one by one where others are folded."""
MAX_WIDTH = 36
"""So many characters of folded indexes or nodes are shown; of more, how many there are."""


class TaskFilter(NamedTuple):
    """Say which tasks are wanted: in one of the states, and of a name or role that fits a pattern; all without any."""

    states: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    def chosen(self, tasks: Iterable[TaskView]) -> list[TaskView]:
        """Return the tasks that are wanted."""
        return [task for task in tasks if self._has_state(task) and self._has_name(task)]

    def _has_state(self, task: TaskView) -> bool:
        return not self.states or task.state in self.states

    def _has_name(self, task: TaskView) -> bool:
        names = (task.role, task_name(task))
        return not self.patterns or any(fnmatchcase(name, pattern) for name in names for pattern in self.patterns)


def task_name(task: TaskView) -> str:
    """Return what users call a task: `worker-0`."""
    return f"{task.role}-{task.index}"


def task_rows(tasks: Sequence[TaskView], *, every: bool = False) -> list[tuple[str, ...]]:
    """Return the rows for COLUMNS: one for each task, or where there are many one for those that are alike.

    Tasks are alike that differ in index, node and times alone. Of them the row has the first start and the last end.
    Failed tasks stand first, some of them one by one.
    """
    if every or len(tasks) <= FEW:
        return [_row([task]) for task in tasks]
    failed = [task for task in tasks if task.state == "FAILED"]
    alone, others = failed[:MAX_FAILED], failed[MAX_FAILED:]
    others += [task for task in tasks if task.state != "FAILED"]
    groups: dict[tuple[object, ...], list[TaskView]] = {}
    for task in others:
        groups.setdefault((task.role, *_same(task)), []).append(task)
    return [_row([task]) for task in alone] + [_row(group) for group in groups.values()]


def _same(task: TaskView) -> tuple[object, ...]:
    """Return what tasks have in common that are alike; one that is held in its place is like no other."""
    held = task.index if task.hold_ends_at is not None else None
    return task.state, task.exit_status, task.exit_code, task.task_attempt, held


def _row(group: Sequence[TaskView]) -> tuple[str, ...]:
    first = group[0]
    ends = [task.ended_at for task in group if task.ended_at is not None]
    return (
        _names(group),
        first.state,
        _nodes(group),
        number(first.exit_status),
        number(first.exit_code),
        str(first.task_attempt) if first.task_attempt else "-",
        format_time(min((task.started_at for task in group if task.started_at is not None), default=None)),
        format_time(max(ends) if len(ends) == len(group) else None),
    )


def _names(group: Sequence[TaskView]) -> str:
    if len(group) == 1:
        return task_name(group[0])
    indexes = ranges({task.index for task in group})
    if len(indexes) > MAX_WIDTH:
        kept = indexes[:MAX_WIDTH].rpartition(",")[0]
        return f"{group[0].role}-[{kept},…] ({len(group)} tasks)"
    return f"{group[0].role}-[{indexes}]"


def _nodes(group: Sequence[TaskView]) -> str:
    nodes = {task.node for task in group if task.node}
    if len(group) == 1:
        return group[0].node or "-"
    text = folded(nodes)
    return text if len(text) <= MAX_WIDTH else f"{len(nodes)} nodes"
