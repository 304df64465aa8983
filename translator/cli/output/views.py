"""The state of a job, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...plural import counted
from ...terminal_text import one_line, pairs_text
from ...times import format_time
from ...view.failure import cause_text, failure_text
from ..options import TASK_STATES
from .console import print_result
from .tables import print_table
from .task_table import COLUMNS, TaskFilter, print_places, task_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...view.jobs import JobView
    from ...view.parts import AttemptView, RoleTasks
    from ...view.task import TaskView


EVERY_TASK = TaskFilter()
SHOWN = 5
"""How many tasks with background processes are shown."""


def print_view(
    job: JobView, now: int, wanted: TaskFilter = EVERY_TASK, *, every: bool = False, ports: bool = False
) -> None:
    """Print a job: the first cause of a failure, its main facts, its roles, the selected tasks, and what explains it.

    `every` prints a row for each task, `ports` the addresses and ports of all started tasks.
    """
    if job.failure is not None:
        print_result(f"{cause_text(job.failure)}\n")
    print_pairs(job.facts(now))
    if job.attempts:
        print_result("")
        _print_retries(job.attempts)
    if job.tasks:
        print_result("")
        _print_roles(job.roles)
        print_result("")
        chosen = wanted.chosen(job.tasks)
        if chosen:
            _print_tasks(chosen, job.name, every=every)
            print_places(job, chosen, every=ports)
        else:
            print_result("no matching tasks")
    if job.failure is not None:
        print_result(f"\n{failure_text(job.failure)}")


def print_pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Print a line for each name with a value."""
    print_result(pairs_text((name, "" if text == "-" else one_line(text)) for name, text in rows))


def _print_retries(attempts: Sequence[AttemptView]) -> None:
    """Print the reason of each retry."""
    rows = [
        (
            str(each.attempt + 1),
            str(each.exit_code),
            format_time(each.ended_at),
            ", ".join(each.blamed_nodes) or "-",
            f"{each.reason}; {each.retry_rule}",
        )
        for each in attempts
    ]
    print_table(("attempt", "exit code", "ended", "left out next", "why it was retried"), rows)


def _print_roles(roles: Sequence[RoleTasks]) -> None:
    shown = [state for state in TASK_STATES if any(role.states.get(state) for role in roles)]
    rows = [
        (role.name, str(sum(role.states.values())), *(str(role.states.get(state) or "-") for state in shown))
        for role in roles
    ]
    print_table(("role", "tasks", *(state.lower() for state in shown)), rows)


def background_text(task: TaskView) -> str:
    """Return what a task waits for whose commands have succeeded."""
    named = (each.partition(":") for each in task.background_processes)
    processes = ", ".join(f"{name} ({number})" for number, _, name in named) or "of unknown name"
    at = format_time(task.background_began_at)
    return f"{task.name} succeeded at {at}; it ends when its background processes end: {processes}"


def _print_tasks(tasks: Sequence[TaskView], job: str, *, every: bool) -> None:
    print_table(COLUMNS, task_rows(tasks, every=every))
    for task in tasks:
        if task.hold_ends_at is not None:
            name = task.name
            kept = f"it is held on {task.node or ''} until {format_time(task.hold_ends_at)} (isDebug)"
            print_result(one_line(f"{name} failed with status {task.exit_status}; {kept}"))
            print_result(
                one_line(f"  inspect it: paislurm exec {job} {name}; free its resources: paislurm cancel {job}")
            )
    waiting = [task for task in tasks if task.background_began_at is not None]
    for task in waiting[:SHOWN]:
        print_result(one_line(background_text(task)))
        processes = " ".join(each.partition(":")[0] for each in task.background_processes)
        stop = f"exec {job} {task.name} -- bash -c 'kill {processes}'" if processes else f"cancel {job}"
        print_result(one_line(f"  stop them: paislurm {stop}"))
    if len(waiting) > SHOWN:
        print_result(f"{counted(len(waiting) - SHOWN, 'other task')} with background processes")
