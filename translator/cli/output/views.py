"""How jobs stand, as text and as JSON."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from ...monitor.waits import advice
from ...state.script_reports import read_scripts
from ...text_tables import pairs_text
from ..options import STATES
from ..where.ports_table import print_places
from ..where.task_places import place_dict, task_places
from .console import one_line, print_result
from .exit_status import state_text
from .run_rows import run_rows
from .tables import print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...monitor.job_status import State
    from ...monitor.poll import View
    from ...monitor.task_status import TaskView
    from ...state.records import Retry


def end_dict(view: View) -> dict[str, object]:
    """Return state, code and reason for `--json`."""
    known = view.history
    end = known.ended
    return {
        "name": view.folder.name,
        "job": known.job,
        "user": known.user,
        "state": view.job_status.state,
        "exit_code": view.job_status.code,
        "reason": view.job_status.reason,
        "ended": view.job_status.ended,
        "attempt": known.attempt,
        "retries": known.counters.total,
        "backend": known.backend,
        "job_id": known.job_id or None,
        "submitted_at": known.submitted,
        "started_at": end.started_at if end else (view.observation.started if view.observation else None),
        "ended_at": end.ended_at if end else None,
        "folder": str(view.folder.path),
    }


def view_dict(view: View) -> dict[str, object]:
    """Return everything about a job for `--json`."""
    known, states = view.history, _states_of_roles(view)
    return end_dict(view) | {
        "backend_state": backend_state(view) or None,
        "backend_reason": (view.observation.reason if view.observation else "") or None,
        "waits": [asdict(wait) for wait in view.job_status.waits],
        "waits_began_at": view.job_status.since,
        "backend_reachable": not view.backend_error,
        "backend_error": view.backend_error or None,
        "read_errors": list(view.read_errors),
        "group": known.group or None,
        "sweep": dict(known.sweep),
        "dependencies": [{"name": each.name, "until": each.until} for each in known.dependencies],
        "attempts": [attempt_dict(retry) for retry in known.retries],
        "excluded_nodes": list(known.excluded_nodes(int(time.time()))),
        "roles": [
            {"name": role.name, "instances": role.instances, "states": dict(states[role.name])} for role in known.roles
        ],
        "tasks": _tasks(view),
        "pages": _pages(view),
        "run": asdict(known.run) if known.run else None,
    }


def _pages(view: View) -> list[dict[str, str]]:
    """Return the pages that running tasks serve."""
    if view.job_status.ended:
        return []
    from ..where.web_pages import web_pages

    return [page._asdict() for page in web_pages(view, task_places(view).values())]


def _tasks(view: View) -> list[dict[str, object]]:
    """Return the tasks, each with what it ran of prerequisites and plugins in the last attempt."""
    known = view.history
    scripts = {role.name: read_scripts(view.folder.scripts(known.attempt, role)) for role in known.roles}
    places = task_places(view)
    found = ((task, scripts[task.role].get(task.index, ())) for task in view.tasks)
    return [
        asdict(task)
        | {"node": task.node or None, "scripts": [asdict(each) for each in runs]}
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


def backend_state(view: View) -> str:
    """Return the backend's own word for the state, as it was last heard."""
    if view.observation is not None:
        return view.observation.raw_state
    if view.history.ended is not None:
        return view.history.ended.backend_state
    return view.history.observed.backend_state if view.history.observed else ""


def print_view(view: View, *, ports: bool = False) -> None:
    """Print a job: what matters of it, its roles, its tasks; with `ports` the addresses and ports of all that began."""
    known = view.history
    rows = [
        ("job", view.folder.name),
        ("state", state_text(view.job_status)),
        ("reason", view.job_status.reason),
        ("since", format_time(view.job_status.since)),
        ("group", known.group),
        ("sweep", " ".join(f"{name}={value}" for name, value in known.sweep.items())),
        ("what helps", advice(view.job_status.waits)),
        ("attempt", str(known.attempt)),
        (known.backend or "backend", _backend_text(view)),
        ("submitted", format_time(known.submitted)),
        ("started", format_time(_started(view))),
        ("ended", format_time(known.ended.ended_at if known.ended else None)),
        ("folder", str(view.folder.path)),
        *(run_rows(known.run) if known.run else ()),
    ]
    print_result(pairs_text((name, "" if text == "-" else one_line(text)) for name, text in rows))
    if known.retries:
        print_result("")
        _print_retries(known.retries)
    if view.tasks:
        print_result("")
        _print_roles(view)
        print_result("")
        _print_tasks(view.tasks, view.folder.name)
        print_places(view, every=ports)


def _started(view: View) -> int | None:
    if view.history.ended is not None:
        return view.history.ended.started_at
    return view.observation.started if view.observation else None


def _backend_text(view: View) -> str:
    if view.history.first_tag and not view.history.tag:
        return "not submitted"
    if not view.history.job_id:
        return "it is not known whether the job was taken"
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
    print_table(("attempt", "code", "ended", "blamed on", "why there was another"), rows)


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


def _print_tasks(tasks: tuple[TaskView, ...], job: str) -> None:
    rows = [
        (
            f"{task.role}-{task.index}",
            task.state,
            task.node or "-",
            number(task.exit_status),
            number(task.exit_code),
            str(task.task_attempt) if task.task_attempt else "-",
            format_time(task.started_at),
            format_time(task.ended_at),
        )
        for task in tasks
    ]
    print_table(("task", "state", "node", "status", "code", "retry", "started", "ended"), rows)
    for task in tasks:
        if task.hold_ends_at is not None:
            name = f"{task.role}-{task.index}"
            kept = f"its place on {task.node} is kept until {format_time(task.hold_ends_at)} (isDebug)"
            print_result(one_line(f"{name} failed with status {task.exit_status}; {kept}"))
            print_result(
                one_line(f"  look into it: paislurm exec {job} {name}; give the place back: paislurm cancel {job}")
            )


def number(value: int | None) -> str:
    """Return a number for a table."""
    return "-" if value is None else str(value)


def format_time(seconds: int | None) -> str:
    """Return a time for people, in their own time zone."""
    if seconds is None:
        return "-"
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    except (OverflowError, OSError, ValueError):
        return str(seconds)


def age(seconds: int) -> str:
    """Return how long ago something was, in the largest unit that fits: `3h`."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{max(0, seconds)}s"
