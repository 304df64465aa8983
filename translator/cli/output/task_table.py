"""The tasks of a job as rows of a table: failed tasks first, similar tasks folded into one row. Pure."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from ...app.task_facts import FEW_PAGES
from ...folded_names import folded, ranges
from ...plural import counted
from ...times import format_time, number
from .console import print_result
from .tables import print_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...view.jobs import JobView
    from ...view.task import TaskView, WebPage


COLUMNS = ("task", "state", "node", "exit status", "exit code", "retry", "started", "ended")
FEW = 20
"""Most tasks that get a row each."""
MAX_FAILED = 10
"""Most failed tasks that get a row each if other tasks are folded."""
MAX_WIDTH = 36
"""Most characters of folded indexes or nodes; a longer text is replaced by their number."""


class TaskFilter(NamedTuple):
    """A filter of tasks by state and by patterns of name or role; without any, it accepts all tasks."""

    states: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    def chosen(self, tasks: Iterable[TaskView]) -> list[TaskView]:
        """Return the matching tasks."""
        return [task for task in tasks if (not self.states or task.state in self.states) and self._has_name(task)]

    def _has_name(self, task: TaskView) -> bool:
        names = (task.role, task.name)
        return not self.patterns or any(fnmatchcase(name, pattern) for name in names for pattern in self.patterns)


def task_rows(tasks: Sequence[TaskView], *, every: bool = False) -> list[tuple[str, ...]]:
    """Return the rows for COLUMNS: one for each task, or if there are many, one for similar tasks.

    Similar tasks differ only in index, node and times. Their row has the first start and the last end. Failed tasks
    come first, some of them in a row each.
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
    """Return the values that similar tasks share. A held task is similar to no other."""
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
        return group[0].name
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


def ports_text(ports: Mapping[str, Iterable[int]]) -> str:
    """Return `http 5000 5001, ssh 5002`, or `-` without ports."""
    return ", ".join(" ".join((label, *map(str, numbers))) for label, numbers in ports.items()) or "-"


def print_places(job: JobView, tasks: Sequence[TaskView], *, every: bool = False) -> None:
    """Print the web pages of running tasks, and the addresses of a few tasks, or of `every` started one."""
    if job.ended and not every:
        return
    names = {task.name for task in tasks}
    _print_pages([page for page in job.pages if page.task in names], every=every)
    running = [task for task in tasks if task.is_running]
    begun = [task for task in tasks if task.started_at is not None]
    shown = begun if every else running if len(running) <= FEW_PAGES else []
    if shown:
        print_result("")
        rows = [
            (task.name, task.node or "-", task.node_address or "-", ports_text(task.ports_by_label)) for task in shown
        ]
        print_table(("task", "node", "address", "ports"), rows)


def _print_pages(pages: Sequence[WebPage], *, every: bool) -> None:
    if pages:
        print_result("")
    for page in pages if every else pages[:FEW_PAGES]:
        print_result(page.text)
    if len(pages) > FEW_PAGES and not every:
        print_result(f"... and {counted(len(pages) - FEW_PAGES, 'more page')}: --ports shows all")
