"""How several jobs stand: a few in short, many in a row each, with the reasons of those that failed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ...monitor.status import ended_at, expected_start_at, runs_since
from ...monitor.waits import advice
from ...plural import counted, some_of
from ...report.build import by_reason
from ...terminal_text import one_line
from ...times import elapsed, format_time
from ..options import STATES
from .console import log, print_result
from .job_table import DEFAULT_COLUMNS, cells, fitted
from .tables import print_table, terminal_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ...app.jobs.listing import Line
    from ...monitor.failure import Failure
    from ...monitor.poll import View

A_FEW = 5
"""So many jobs are told of in short, a block of lines each; more have a row each."""
REASONS, NAMES = 5, 4
"""So many reasons of jobs that failed are shown, and of each so many names of jobs."""


def print_lines(lines: Sequence[Line], columns: tuple[str, ...], now: int, *, fit: bool) -> None:
    """Print a row for each job; with `fit`, what is too long for the terminal is cut."""
    rows = cells(lines, columns, now)
    if fit:
        columns, rows = fitted(columns, rows, terminal_width())
    print_table(columns, rows)


def print_few(views: Sequence[View], now: int, failure_of: Callable[[View], Failure | None]) -> None:
    """Print what matters most of each job, its last line, and how many of its tasks are in each state."""
    from .views import print_pairs, state_of_view

    for position, view in enumerate(views):
        if position:
            print_result("")
        failure = failure_of(view) if view.job_status.state == "FAILED" else None
        last = failure.last_lines[-1:] if failure is not None else ()
        rows = [
            ("job", view.folder.name),
            ("state", state_of_view(view)),
            ("reason", view.job_status.reason),
            ("last line", "".join(last)),
            ("what helps", advice(view.job_status.waits)),
            ("tasks", _counts_text(task.state for task in view.tasks)),
            ("partition", view.history.partition),
            ("expected start", format_time(expected_start_at(view))),
            ("elapsed", elapsed(runs_since(view), ended_at(view), now)),
        ]
        print_pairs(rows)


def print_many(lines: Sequence[Line], now: int, failure_of: Callable[[str], Failure | None], *, fit: bool) -> None:
    """Print a row for each job, and below them why jobs failed; `failure_of` has more about the job of a name."""
    print_lines(lines, DEFAULT_COLUMNS, now, fit=fit)
    for text in cause_texts(lines, failure_of):
        print_result(f"\n{text}")
    whole = next((line for line in lines if line.state == "FAILED"), lines[0])
    log(f"a job is shown whole by its name alone: paislurm status {one_line(whole.short_name)}")


def cause_texts(lines: Sequence[Line], failure_of: Callable[[str], Failure | None]) -> Iterator[str]:
    """Yield why jobs failed: each reason with its jobs, and what the first of them printed last."""
    failed = [line for line in lines if line.state == "FAILED"]
    short = {line.short_name: line.name for line in failed}
    reasons = by_reason((line.short_name, line.state, line.reason) for line in failed)
    for reason in reasons[:REASONS]:
        text = one_line(f"{some_of(reason.names, NAMES)} failed: {reason.text}")
        failure = failure_of(short[reason.names[0]])
        last = failure.last_lines[-1:] if failure is not None else ()
        yield "\n".join([text, *(f"  | {one_line(line)}" for line in last)])
    if rest := sum(len(reason.names) for reason in reasons[REASONS:]):
        yield f"and {rest} more failed: paislurm list --state failed"


def total_texts(views: Sequence[View], groups: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield for each group how many of its jobs are in each state; without groups, of all jobs."""
    states = {view.folder.name: view.job_status.state for view in views}
    totals = {f"group {name}: ": members for name, members in groups.items()} or {"": states}
    for name, members in totals.items():
        found = [states[member] for member in members if member in states]
        yield one_line(f"{name}{counted(len(found), 'job')}, {_counts_text(found)}")


def _counts_text(states: Iterable[str]) -> str:
    """Return how many are in each state, `1 running, 2 failed`."""
    counts = Counter(states)
    return ", ".join(f"{counts[state]} {state.lower()}" for state in (*STATES, "UNKNOWN") if counts[state])
