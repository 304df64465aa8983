"""The state of a job, as text."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING

from ...app.views.line import asked_of
from ...app.views.of_poll import job_stall
from ...monitor.failure import advice_between
from ...monitor.job_status import state_text
from ...monitor.status import backend_state, ended_at, expected_start_at, node_list, runs_since, started_at
from ...monitor.waits import advice
from ...plural import counted
from ...report.failure_text import cause_text, failure_text
from ...state.changes import change_text
from ...terminal_text import one_line, pairs_text
from ...times import elapsed, elapsed_text, format_time
from ..options import STATES
from .console import print_result
from .tables import print_table
from .task_table import COLUMNS, TaskFilter, print_places, task_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...app.views.line import Asked
    from ...monitor.failure import Failure
    from ...monitor.poll import View
    from ...monitor.task_status import TaskView
    from ...state.records import Changed, Retry
    from ...state.run_record import RunRecord


EVERY_TASK = TaskFilter()
SHOWN = 5
"""How many changes of a job are shown, from the last, and how many tasks with background processes."""


def print_view(
    view: View,
    failure: Failure | None,
    now: int,
    wanted: TaskFilter = EVERY_TASK,
    *,
    every: bool = False,
    ports: bool = False,
) -> None:
    """Print a job: the first cause of a failure, its main facts, its roles, the selected tasks, and what explains it.

    `every` prints a row for each task, `ports` the addresses and ports of all started tasks.
    """
    if failure is not None:
        print_result(f"{cause_text(failure)}\n")
    known, said = view.history, advice_between(view.history)
    rows = [
        ("job", view.folder.name),
        ("state", state_of_view(view)),
        ("reason", view.job_status.reason),
        ("stalled", f"{stall.reason}; details in {stall.folder}" if (stall := job_stall(view)) else ""),
        ("since", format_time(view.job_status.since)),
        ("group", known.group),
        ("sweep", " ".join(f"{name}={value}" for name, value in known.sweep.items())),
        ("advice", advice(view.job_status.waits)),
        ("usually", said.meaning if said else ""),
        ("try", said.remedy if said else ""),
        ("attempt", str(known.attempt)),
        (known.backend or "backend", _backend_text(view)),
        ("virtual cluster", known.virtual_cluster),
        ("partition", known.partition),
        *_asked_rows(asked_of(view)),
        *change_rows(known.changes),
        ("submitted", format_time(known.submitted)),
        ("expected start", format_time(expected_start_at(view))),
        ("started", format_time(started_at(view))),
        ("ended", format_time(ended_at(view))),
        ("elapsed", elapsed(runs_since(view), ended_at(view), now)),
        ("nodes", node_list(view)),
        ("avoids", ", ".join(known.avoided)),
        ("folder", str(view.folder.path)),
        *(run_rows(known.run) if known.run else ()),
    ]
    print_pairs(rows)
    if known.retries:
        print_result("")
        _print_retries(known.retries)
    if view.tasks:
        print_result("")
        _print_roles(view)
        print_result("")
        chosen = wanted.chosen(view.tasks)
        if chosen:
            _print_tasks(chosen, view.folder.name, every=every)
            print_places(view, chosen, every=ports)
        else:
            print_result("no matching tasks")
    if failure is not None:
        print_result(f"\n{failure_text(failure)}")


def _asked_rows(asked: Asked) -> list[tuple[str, str]]:
    return [
        ("account", asked.account or ""),
        ("time limit", elapsed_text(asked.time_limit)),
        ("GPUs", str(asked.job_gpus or "")),
    ]


def print_pairs(rows: Sequence[tuple[str, str]]) -> None:
    """Print a line for each name with a value."""
    print_result(pairs_text((name, "" if text == "-" else one_line(text)) for name, text in rows))


def state_of_view(view: View) -> str:
    """Return the state, with a note between two attempts."""
    between = " (between two attempts)" if view.history.is_between_attempts else ""
    return f"{state_text(view.job_status)}{between}"


def _backend_text(view: View) -> str:
    if (view.history.first_tag and not view.history.tag) or view.history.refused is not None:
        return "not submitted"
    if not view.history.job_id:
        return "unknown whether the submission succeeded"
    if view.history.is_between_attempts:
        return f"job {view.history.job_id} has ended"
    state = backend_state(view)
    age = " (last known)" if view.backend_error and state else ""
    reason = view.observation.reason if view.observation else ""
    why = f", {reason}" if reason not in ("", "None") else ""
    return f"job {view.history.job_id}" + (f", {state}{age}{why}" if state else "")


def _print_retries(retries: Sequence[Retry]) -> None:
    """Print the reason of each retry."""
    rows = [
        (
            str(retry.attempt),
            str(retry.exit_code),
            format_time(retry.ended_at),
            ", ".join(retry.blamed_nodes) or "-",
            f"{retry.reason}; {retry.retry_rule}",
        )
        for retry in retries
    ]
    print_table(("attempt", "exit code", "ended", "blamed on", "why it was retried"), rows)


def _print_roles(view: View) -> None:
    counts = {role.name: Counter(t.state for t in view.tasks if t.role == role.name) for role in view.history.roles}
    shown = [state for state in STATES if any(count[state] for count in counts.values())]
    rows = [
        (name, str(sum(count.values())), *(str(count[state] or "-") for state in shown))
        for name, count in counts.items()
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
            kept = f"it is held on {task.node} until {format_time(task.hold_ends_at)} (isDebug)"
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


def change_rows(changes: Sequence[Changed]) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the last changes, and the number of earlier ones."""
    earlier = len(changes) - SHOWN
    if earlier > 0:
        yield "changed", f"{counted(earlier, 'earlier change')}: `paislurm status --json` lists them all"
    for change in changes[-SHOWN:]:
        yield "changed", f"{format_time(change.happened_at)}: {change_text(change)}"


MAX_VALUE, MAX_LINE = 40, 200
"""Most characters of a parameter, and of a line; `status --json` prints all."""


def run_rows(run: RunRecord) -> Iterator[tuple[str, str]]:
    """Yield names and texts: the parameters (those of --set first), the command, its user and its place."""
    names = [*run.overrides, *(name for name in run.parameters if name not in run.overrides)]
    texts = (f"{name}={_cut(run.parameters.get(name, ''), MAX_VALUE)}" for name in names)
    yield "parameters", _cut(" ".join(texts), MAX_LINE)
    yield "command", _cut(shlex.join(("paislurm", *run.argv)), MAX_LINE) if run.argv else ""
    yield "from", f"{run.submitted_by}:{run.submit_folder}"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
