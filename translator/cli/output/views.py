"""How jobs stand, as text and as JSON."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import to_builtins

from ...app.jobs.listing import asked_of
from ...app.where.task_places import place_dict, task_places
from ...monitor.failure import advice_between
from ...monitor.job_status import state_text
from ...monitor.status import Status, backend_state, ended_at, expected_start_at, node_list, runs_since, started_at
from ...monitor.waits import advice
from ...report.failure_text import failure_text
from ...state.task_reports import read_scripts
from ...terminal_text import one_line
from ...text_tables import pairs_text
from ...times import elapsed, elapsed_text, format_time
from ..options import STATES
from .change_rows import change_dict, change_rows, run_rows
from .console import print_result
from .tables import print_table
from .task_places import pages_dicts, print_places
from .task_table import COLUMNS, TaskFilter, task_name, task_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...app.jobs.listing import Asked
    from ...monitor.failure import Failure
    from ...monitor.job_status import State
    from ...monitor.poll import View
    from ...monitor.task_status import TaskView
    from ...state.records import Retry

EVERY_TASK = TaskFilter()


def end_dict(view: View) -> dict[str, object]:
    """Return state, code and reason for `--json`."""
    return Status.of(view).end_dict()


def view_dict(view: View, failure: Failure | None, wanted: TaskFilter = EVERY_TASK) -> dict[str, object]:
    """Return everything about a job for `--json`, and why it failed; of its tasks those that are wanted."""
    known, states = view.history, _states_of_roles(view)
    return end_dict(view) | {
        "failure": failure.as_dict() if failure else None,
        "backend_state": backend_state(view) or None,
        "backend_reason": (view.observation.reason if view.observation else "") or None,
        "waits": [to_builtins(wait) for wait in view.job_status.waits],
        "waits_began_at": view.job_status.since,
        "expected_start_at": expected_start_at(view),
        "node_list": node_list(view) or None,
        "backend_reachable": not view.backend_error,
        "backend_error": view.backend_error or None,
        "read_errors": list(view.read_errors),
        "group": known.group or None,
        "sweep": dict(known.sweep),
        "dependencies": [{"name": each.name, "until": each.until} for each in known.dependencies],
        "attempts": [attempt_dict(retry) for retry in known.retries],
        "changes": [change_dict(change) for change in known.changes],
        "excluded_nodes": list(known.excluded_nodes(int(time.time()))),
        "roles": [
            {"name": role.name, "instances": role.instances, "states": dict(states[role.name])} for role in known.roles
        ],
        "tasks": _tasks(view, wanted),
        **asked_of(view)._asdict(),
        "pages": pages_dicts(view),
        "run": to_builtins(known.run) if known.run else None,
    }


def _tasks(view: View, wanted: TaskFilter) -> list[dict[str, object]]:
    """Return the tasks, each with what it ran of prerequisites and plugins in the last attempt."""
    known = view.history
    scripts = {role.name: read_scripts(view.folder.scripts(known.attempt, role)) for role in known.roles}
    places = task_places(view)
    found = ((task, scripts[task.role].get(task.index, ())) for task in wanted.chosen(view.tasks))
    return [
        to_builtins(task)
        | {"node": task.node or None, "scripts": [to_builtins(each) | {"name": each.name or None} for each in runs]}
        | place_dict(places.get((task.role, task.index)))
        for task, runs in found
    ]


def attempt_dict(retry: Retry) -> dict[str, object]:
    """Return how an earlier attempt ended, and why there was another one."""
    return {
        "attempt": retry.attempt,
        "exit_code": retry.exit_code,
        "behaviour": retry.behaviour,
        "reason": retry.reason,
        "retry_rule": retry.retry_rule,
        "backend_state": retry.backend_state or None,
        "blamed_nodes": list(retry.blamed_nodes),
        "started_at": retry.started_at,
        "ended_at": retry.ended_at,
        "retry_at": retry.retry_at,
    }


def print_view(
    view: View,
    failure: Failure | None,
    now: int,
    wanted: TaskFilter = EVERY_TASK,
    *,
    every: bool = False,
    ports: bool = False,
) -> None:
    """Print a job: what matters of it, its roles, its tasks that are wanted, why it failed.

    `every` shows each task in a row of its own, `ports` the addresses and ports of all that began.
    """
    known, said = view.history, advice_between(view.history)
    rows = [
        ("job", view.folder.name),
        ("state", state_of_view(view)),
        ("reason", view.job_status.reason),
        ("since", format_time(view.job_status.since)),
        ("group", known.group),
        ("sweep", " ".join(f"{name}={value}" for name, value in known.sweep.items())),
        ("what helps", advice(view.job_status.waits)),
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
            print_result("no such tasks")
    if failure is not None:
        print_result(f"\n{failure_text(failure)}")


def _asked_rows(asked: Asked) -> list[tuple[str, str]]:
    return [
        ("account", asked.account or ""),
        ("time limit", elapsed_text(asked.time_limit)),
        ("GPUs", str(asked.job_gpus or "")),
    ]


def print_pairs(rows: Sequence[tuple[str, str]]) -> None:
    """Print a line for each name of which something is known."""
    print_result(pairs_text((name, "" if text == "-" else one_line(text)) for name, text in rows))


def state_of_view(view: View) -> str:
    """Return the state, and where no attempt is under way because the next one is due, that."""
    between = " (between two attempts)" if view.history.is_between_attempts else ""
    return f"{state_text(view.job_status)}{between}"


def _backend_text(view: View) -> str:
    if (view.history.first_tag and not view.history.tag) or view.history.refused is not None:
        return "not submitted"
    if not view.history.job_id:
        return "it is not known whether the job was taken"
    if view.history.is_between_attempts:
        return f"job {view.history.job_id} has ended"
    state = backend_state(view)
    heard = " (last heard)" if view.backend_error and state else ""
    reason = view.observation.reason if view.observation else ""
    why = f", {reason}" if reason not in ("", "None") else ""
    return f"job {view.history.job_id}" + (f", {state}{heard}{why}" if state else "")


def _print_retries(retries: Sequence[Retry]) -> None:
    """Print why there was more than one attempt."""
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
    print_table(("attempt", "exit code", "ended", "blamed on", "why there was another"), rows)


def _states_of_roles(view: View) -> dict[str, Counter[State]]:
    """Return how many tasks of each role are in each state."""
    return {role.name: Counter(t.state for t in view.tasks if t.role == role.name) for role in view.history.roles}


def _print_roles(view: View) -> None:
    counts = _states_of_roles(view)
    shown = [state for state in STATES if any(count[state] for count in counts.values())]
    rows = [
        (name, str(sum(count.values())), *(str(count[state] or "-") for state in shown))
        for name, count in counts.items()
    ]
    print_table(("role", "tasks", *(state.lower() for state in shown)), rows)


def _print_tasks(tasks: Sequence[TaskView], job: str, *, every: bool) -> None:
    print_table(COLUMNS, task_rows(tasks, every=every))
    for task in tasks:
        if task.hold_ends_at is not None:
            name = task_name(task)
            kept = f"its place on {task.node} is kept until {format_time(task.hold_ends_at)} (isDebug)"
            print_result(one_line(f"{name} failed with status {task.exit_status}; {kept}"))
            print_result(
                one_line(f"  look into it: paislurm exec {job} {name}; give the place back: paislurm cancel {job}")
            )
