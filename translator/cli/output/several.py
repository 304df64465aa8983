"""The states and ends of jobs: in sentences, as an exit code; of several, a block or a row each, and the reasons."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ...plural import counted, some_of
from ...terminal_text import one_line
from ...view.failure import cause_text, failure_key, failure_text
from ...view.jobs import Jobs
from ...view.line import waiting_here
from ...view.states import counts_text
from .console import is_terminal, log, print_json, print_result
from .job_table import DEFAULT_COLUMNS, cells, fitted, short_name
from .tables import print_table, terminal_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ...app.jobs.refresh import PolledJobs
    from ...app.session import Session
    from ...view.failure import JobFailure
    from ...view.jobs import JobView
    from ...view.line import JobLine
    from .task_table import TaskFilter

A_FEW = 5
"""Most jobs that get a block of lines each; more get a row each."""
FEW_FACTS = ("job", "state", "reason", "last line", "advice", "tasks", "partition", "expected start", "elapsed")
"""The facts in a summary of a job."""
REASONS, NAMES, READ = 5, 4, 50
"""Most causes of failures that are shown, most names of jobs for each, and most failures whose logs are read."""


def print_lines(lines: Sequence[JobLine], columns: tuple[str, ...], now: int, *, fit: bool) -> None:
    """Print a row for each job; `fit` cuts rows to the width of the terminal."""
    rows = cells(lines, columns, now)
    if fit:
        columns, rows = fitted(columns, rows, terminal_width())
    print_table(columns, rows)


def print_few(jobs: Sequence[JobView], now: int) -> None:
    """Print a summary of each job: some facts, its last line, and the number of tasks in each state."""
    from .views import print_pairs

    for position, job in enumerate(jobs):
        if position:
            print_result("")
        facts = dict(job.facts(now)) | {
            "last line": "".join(job.failure.last_lines[-1:]) if job.failure else "",
            "tasks": counts_text(task.state for task in job.tasks),
        }
        print_pairs((name, facts[name]) for name in FEW_FACTS)


def print_many(
    lines: Sequence[JobLine], now: int, failure_of: Callable[[str], JobFailure | None], *, fit: bool
) -> None:
    """Print a row for each job, then the reasons of failures; `failure_of` returns the failure of a job by name."""
    print_lines(lines, DEFAULT_COLUMNS, now, fit=fit)
    for text in cause_texts(lines, failure_of):
        print_result(f"\n{text}")
    whole = next((line for line in lines if line.state == "FAILED"), lines[0])
    log(f"for the details of one job: paislurm status {one_line(short_name(whole))}")


def cause_texts(lines: Sequence[JobLine], failure_of: Callable[[str], JobFailure | None]) -> Iterator[str]:
    """Yield each cause of failures with its jobs, and the last words of the first one; the commonest comes first."""
    failed = [line for line in lines if line.state == "FAILED"]
    found: dict[str, list[tuple[JobLine, JobFailure | None]]] = {}
    for line in failed[:READ]:
        failure = failure_of(line.name)
        found.setdefault(failure_key(failure, line.reason or ""), []).append((line, failure))
    groups = sorted(found.values(), key=len, reverse=True)[:REASONS]
    for group in groups:
        line, failure = group[0]
        words = failure.last_words or "".join(failure.last_lines[-1:]) if failure is not None else ""
        names = some_of([short_name(each) for each, _ in group], NAMES)
        yield "\n".join([one_line(f"{names} failed: {line.reason}"), *([f"  | {one_line(words)}"] if words else [])])
    if rest := len(failed) - sum(map(len, groups)):
        yield f"and {rest} more failed: paislurm list --state failed"


def total_texts(lines: Sequence[JobLine], groups: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield the number of jobs in each state, and of those that wait here, for each group or for all jobs."""
    known = {line.name: line for line in lines}
    totals = {f"group {name}: ": members for name, members in groups.items()} or {"": known}
    for name, members in totals.items():
        found = [known[member] for member in members if member in known]
        yield one_line(f"{name}{counted(len(found), 'job')}, {counts_text(line.state for line in found)}")
        if waits := waiting_here(found):
            yield one_line(waits)


def print_one_or_several(jobs: Sequence[JobView], *, many: bool) -> None:
    """Print a job as a JSON document, or several: those of a list, a pattern or a group."""
    print_json(Jobs(jobs=tuple(jobs)) if many or len(jobs) > 1 else jobs[0])


def print_several(session: Session, polled: PolledJobs, wanted: TaskFilter) -> None:
    """Print a block for each of a few jobs or a row for each of many, and the number of jobs in each state.

    With a filter of tasks, print only jobs with such tasks.
    """
    if wanted.states or wanted.patterns:
        polled = polled.with_tasks(wanted.chosen)
    if not polled.lines:
        log("no job has matching tasks")
        return
    if len(polled.lines) <= A_FEW:
        print_few(polled.jobs(), session.now())
    else:
        print_many(polled.lines, session.now(), polled.failure_of, fit=is_terminal(sys.stdout))
    if polled.groups or len(polled.lines) > A_FEW:
        print_result("\n" + "\n".join(total_texts(polled.lines, polled.groups)))


FAILED = 1
LOG_OPTIONS = {"runtime": "--runtime", "batch": "--batch", "stderr": "--stderr", "stdout": ""}
"""The options of `logs` by the log that shows a failure."""


def exit_code(job: JobLine) -> int:
    """Return 0 for a job that succeeded, 1 for any other end."""
    return 0 if job.succeeded else FAILED


def log_ending(job: JobView) -> None:
    """Log the end of a job; for a failure, also the reason and the commands that show more."""
    log(one_line(job.sentence))
    if job.state == "FAILED":
        if job.failure is not None:
            # Without a task, the first line would say the reason again.
            first = cause_text(job.failure).splitlines()[job.failure.task is None :]
            log("\n".join([*first, failure_text(job.failure)]))
        log(f"see: paislurm status {job.name}; {_logs_command(job)}")


def _logs_command(job: JobView) -> str:
    """Return the command that shows the whole log of the failure."""
    option = LOG_OPTIONS[job.failure.stream if job.failure else "stderr"]
    task = job.failure.task if job.failure else ""
    return " ".join(filter(None, ("paislurm logs", option, job.name, task)))
