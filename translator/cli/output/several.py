"""The states and ends of jobs: in sentences, as an exit code; of several, a block or a row each, and the reasons."""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from ...app.views.line import job_line
from ...monitor.job_status import state_text
from ...monitor.status import ended_at, expected_start_at, runs_since
from ...monitor.waits import advice
from ...plural import counted, some_of
from ...report.build import by_reason
from ...report.failure_text import cause_text, failure_text
from ...terminal_text import one_line
from ...times import elapsed, format_time
from ..options import STATES
from .console import is_terminal, log, print_result
from .job_table import DEFAULT_COLUMNS, cells, fitted
from .tables import print_table, terminal_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ...app.session import Session
    from ...app.views.line import JobLine
    from ...monitor.failure import Failure
    from ...monitor.poll import View
    from .task_table import TaskFilter

A_FEW = 5
"""Most jobs that get a block of lines each; more get a row each."""
REASONS, NAMES = 5, 4
"""Most reasons of failures that are shown, and most names of jobs for each reason."""


def print_lines(lines: Sequence[JobLine], columns: tuple[str, ...], now: int, *, fit: bool) -> None:
    """Print a row for each job; `fit` cuts rows to the width of the terminal."""
    rows = cells(lines, columns, now)
    if fit:
        columns, rows = fitted(columns, rows, terminal_width())
    print_table(columns, rows)


def print_few(views: Sequence[View], now: int, failure_of: Callable[[View], Failure | None]) -> None:
    """Print a summary of each job: its state, its last line, and the number of tasks in each state."""
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
            ("advice", advice(view.job_status.waits)),
            ("tasks", _counts_text(task.state for task in view.tasks)),
            ("partition", view.history.partition),
            ("expected start", format_time(expected_start_at(view))),
            ("elapsed", elapsed(runs_since(view), ended_at(view), now)),
        ]
        print_pairs(rows)


def print_many(lines: Sequence[JobLine], now: int, failure_of: Callable[[str], Failure | None], *, fit: bool) -> None:
    """Print a row for each job, then the reasons of failures; `failure_of` returns the failure of a job by name."""
    print_lines(lines, DEFAULT_COLUMNS, now, fit=fit)
    for text in cause_texts(lines, failure_of):
        print_result(f"\n{text}")
    whole = next((line for line in lines if line.state == "FAILED"), lines[0])
    log(f"for the details of one job: paislurm status {one_line(whole.short_name)}")


def cause_texts(lines: Sequence[JobLine], failure_of: Callable[[str], Failure | None]) -> Iterator[str]:
    """Yield each reason of failures with its jobs, and the last lines of the first one."""
    failed = [line for line in lines if line.state == "FAILED"]
    short = {line.short_name: line.name for line in failed}
    reasons = by_reason((line.short_name, line.state, line.reason or "") for line in failed)
    for reason in reasons[:REASONS]:
        text = one_line(f"{some_of(reason.names, NAMES)} failed: {reason.text}")
        failure = failure_of(short[reason.names[0]])
        last = failure.last_lines[-1:] if failure is not None else ()
        yield "\n".join([text, *(f"  | {one_line(line)}" for line in last)])
    if rest := sum(len(reason.names) for reason in reasons[REASONS:]):
        yield f"and {rest} more failed: paislurm list --state failed"


def total_texts(views: Sequence[View], groups: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield the number of jobs in each state, for each group or for all jobs."""
    states = {view.folder.name: view.job_status.state for view in views}
    totals = {f"group {name}: ": members for name, members in groups.items()} or {"": states}
    for name, members in totals.items():
        found = [states[member] for member in members if member in states]
        yield one_line(f"{name}{counted(len(found), 'job')}, {_counts_text(found)}")


def _counts_text(states: Iterable[str]) -> str:
    """Return the number of jobs in each state: `1 running, 2 failed`."""
    counts = Counter(states)
    return ", ".join(f"{counts[state]} {state.lower()}" for state in (*STATES, "UNKNOWN") if counts[state])


def print_several(
    session: Session, views: Sequence[View], groups: Mapping[str, Sequence[str]], wanted: TaskFilter
) -> None:
    """Print a block for each of a few jobs or a row for each of many, and the number of jobs in each state.

    With a filter of tasks, print only jobs with such tasks.
    """
    from ...app.results.failure import failure_of

    if wanted.states or wanted.patterns:
        views, groups = [view for view in views if wanted.chosen(view.tasks)], {}
    if not views:
        log("no job has matching tasks")
        return
    if len(views) <= A_FEW:
        print_few(views, session.now(), partial(failure_of, session))
    else:
        by_name = {view.folder.name: view for view in views}
        fit = is_terminal(sys.stdout)
        print_many(
            [job_line(view) for view in views], session.now(), lambda name: failure_of(session, by_name[name]), fit=fit
        )
    if groups or len(views) > A_FEW:
        print_result("\n" + "\n".join(total_texts(views, groups)))


FAILED = 1
LOG_OPTIONS = {"runtime": "--runtime", "batch": "--batch", "stderr": "--stderr", "stdout": ""}
"""The options of `logs` by the log that shows a failure."""


def exit_code(view: View) -> int:
    """Return 0 for a job that succeeded, 1 for any other end."""
    return 0 if view.job_status.state == "SUCCEEDED" else FAILED


def ending_text(view: View) -> str:
    """Return the state of a job, in a sentence."""
    reason = f": {view.job_status.reason}" if view.job_status.reason else ""
    return f"{view.folder.name} {state_text(view.job_status)}{reason}"


def log_ending(view: View, failure: Failure | None) -> None:
    """Log the end of a job; for a failure, also the reason and the commands that show more."""
    log(one_line(ending_text(view)))
    if view.job_status.state == "FAILED":
        if failure is not None:
            first = f"{cause_text(failure)}\n" if failure.first is not None else ""
            log(f"{first}{failure_text(failure)}")
        log(f"see: paislurm status {view.folder.name}; {_logs_command(view.folder.name, failure)}")


def _logs_command(job: str, failure: Failure | None) -> str:
    """Return the command that shows the whole log of the failure."""
    option = LOG_OPTIONS[failure.stream if failure else "stderr"]
    task = failure.task.name if failure and failure.task else ""
    return " ".join(filter(None, ("paislurm logs", option, job, task)))
