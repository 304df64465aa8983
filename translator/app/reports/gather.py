"""Gather the data of reports: the journal, the files of all attempts, and the current job status; write their page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ...errors import BackendError
from ...monitor.job_files import result_of
from ...report.attempt_use import attempt_uses
from ...report.from_evidence import DETAILED, AttemptFiles, JobEvidence, attempt_entries
from ...report.model import JobReport, Tail
from ...state.journal import read
from ...state.kept_plan import KeptPlan, kept_plan
from ...state.task_reports import read_peers, read_runs, read_scripts
from ...terminal_text import one_line
from ...view.cost import job_cost
from ..job_view import job_view
from ..jobs.refresh import views_of
from ..log_reading import fetch, final_lines, log_end, run_folder_with_logs
from ..paths import write_output
from .evidence import Accounts, OfJob, accounts, parameters_of, submitted_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ...monitor.facts import View
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...state.result import Result, TaskResult
    from ...view.cost import AttemptUse
    from ..session import Session


MAX_ATTEMPTS = 200
"""The number of attempts, the newest, that a report shows."""


def job_reports(session: Session, folders: Sequence[JobFolder], *, details: bool) -> list[JobReport]:
    """Return the reports of jobs; `details` adds logs, job file and script. Raises OSError without a journal."""
    return [_report(session, view, details=details) for view in views_of(session, folders)]


def uses_of_jobs(session: Session, views: Sequence[View]) -> list[list[AttemptUse]]:
    """Return the use of each job's attempts, with one query to Slurm's accounting for all jobs of a cluster."""
    jobs = [OfJob(view.history, (*read(view.folder.journal).records, *view.news)) for view in views]
    accounted = accounts(session, jobs, steps=False)
    return [list(attempt_uses(_evidence(session, *each)[0])) for each in zip(views, jobs, accounted, strict=True)]


def _evidence(
    session: Session, view: View, job: OfJob, accounted: Accounts, first: int = 0, *, every_run: bool = True
) -> tuple[JobEvidence, list[str]]:
    """Return the evidence of a job with its attempts from `first` on, and messages about unreadable files.

    Without a result, only reports contain the start times of tasks; with `every_run` they are read anyway.
    """
    folder, attempts = view.folder, []
    notes: list[str] = []
    for number in range(first, view.history.attempt + 1):
        result, errors = result_of(folder, number, late=False)
        by_position = read_runs(folder.reports(number)) if every_run or result is None else {}
        attempts.append(
            AttemptFiles(
                number=number,
                result=result,
                runs={role.folder: by_position.get(position, {}) for position, role in enumerate(view.history.roles)},
                allocated=accounted.allocated.get(number, ()),
                usages=accounted.usages.get(number, {}),
            )
        )
        notes += errors
    evidence = JobEvidence(
        now=session.now(),
        view=view,
        records=job.records,
        plan=kept_plan(folder.path) if every_run else KeptPlan(),
        attempts=attempts,
    )
    return evidence, notes


def _report(session: Session, view: View, *, details: bool) -> JobReport:
    folder, known = view.folder, view.history
    of_job = OfJob(known, (*read(folder.journal).records, *view.news))
    first = max(0, known.attempt - MAX_ATTEMPTS + 1)
    notes = [*view.read_errors, *([view.backend_error] if view.backend_error else [])]
    if first:
        notes.append(f"only the last {MAX_ATTEMPTS} of {known.attempt + 1} attempts are shown")
    [accounted] = accounts(session, [of_job], steps=True) if details else [Accounts()]
    found, errors = _evidence(session, view, of_job, accounted, 0 if details else first, every_run=details)
    cost = job_cost(attempt_uses(found)) if details else None
    attempts = [
        _with_scripts(view, files) if details and files.number > known.attempt - DETAILED else files
        for files in found.attempts
        if files.number >= first
    ]
    job = job_view(session, view, cost=cost)
    if job.parameters is None:
        job = replace(job, parameters={**parameters_of(folder), **job.sweep})
    job_file, script = submitted_files(folder, known) if details else ("", "")
    notes += [*errors, *(_fetch_logs(session, view, attempts) if details else ())]
    return JobReport(
        job=job,
        now=session.now(),
        attempts=attempt_entries(replace(found, attempts=attempts)),
        tails=tuple(tails(folder, known, attempts)) if details else (),
        job_file=job_file,
        script=script,
        notes=tuple(notes),
    )


def _fetch_logs(session: Session, view: View, attempts: Sequence[AttemptFiles]) -> list[str]:
    """Fetch the logs of failed tasks from a login node; return a message if some may be missing."""
    folder, known = view.folder, view.history
    roles = {role.name: role for role in known.roles}
    try:
        for files in attempts[-DETAILED:]:
            tasks = [(roles[task.role], task.index) for task in first_failed(files.result) if task.role in roles]
            if tasks:
                fetch(session, known, run_folder_with_logs(folder, known, tasks, files.number))
    except BackendError as error:
        return [f"log lines may be missing: {error.diagnostics[0].message}"]
    return []


def _with_scripts(view: View, files: AttemptFiles) -> AttemptFiles:
    """Return the files of an attempt with the scripts of its hooks and the places of its tasks."""
    folder, roles, number = view.folder, view.history.roles, files.number
    scripts = {role.folder: read_scripts(folder.scripts(number, role)) for role in roles}
    return replace(files, scripts=scripts, peers=read_peers(folder.reports(number)))


MAX_TASKS, MAX_LINES, MAX_BYTES = 8, 40, 16 << 10
"""The most failed tasks per attempt, and the most lines and bytes per log, that a report shows."""
STREAMS = ("stderr", "stdout", "runtime")


def tails(folder: JobFolder, known: History, attempts: Iterable[AttemptFiles]) -> Iterator[Tail]:
    """Yield the last lines of the tasks that failed first in each attempt, the newest attempt first."""
    roles = {role.name: role for role in known.roles}
    for files in reversed(list(attempts)):
        for task in first_failed(files.result):
            name = f"{task.role}-{task.index}"
            for stream in STREAMS if task.role in roles else ():
                log = folder.log(files.number, roles[task.role], task.index, task.task_attempt, stream)
                data, whole = log_end(log, MAX_BYTES, folder.path.stat().st_uid)
                lines = final_lines(data)
                if data.strip():
                    text, whole = "\n".join(lines[-MAX_LINES:]), whole and len(lines) <= MAX_LINES
                    yield Tail(attempt=files.number, task=name, stream=stream, text=text, whole=whole)


def first_failed(result: Result | None) -> list[TaskResult]:
    """Return the tasks of an attempt that failed first, at most MAX_TASKS."""
    failed = [task for task in result.tasks if task.state == "FAILED"] if result else []
    return sorted(failed, key=lambda task: task.ended_at or 0)[:MAX_TASKS]


class WrittenReport(Struct, frozen=True, kw_only=True):
    """A page about jobs."""

    file: str
    """The path of the page."""


def write_report(
    session: Session,
    folders: Sequence[JobFolder],
    output: str | os.PathLike[str] | None = None,
    *,
    group: str | None = None,
) -> WrittenReport:
    """Write an HTML page about a job, or a comparison of several jobs or a group; warn of missing data.

    Default for `output`: JOB.report.html in the current folder. Raises UsageError if `output` is not a file.
    """
    # Imported late: it loads Jinja2, which `status --cost` does not need.
    from ...report.page import comparison_page, job_page

    several = group is not None or len(folders) > 1
    reports = job_reports(session, folders, details=not several)
    page = comparison_page(reports, group or "") if several else job_page(reports[0])
    path = Path(output or f"{_page_name(folders, group)}.report.html")
    write_output(path, page.encode("utf-8", "backslashreplace"), is_named=output is not None)
    for report in reports:
        for note in report.notes:
            session.say(f"warning: {one_line(report.job.name)}: {note}")
    return WrittenReport(file=str(path))


def _page_name(folders: Sequence[JobFolder], group: str | None) -> str:
    """Return the name of the group or job in portable characters."""
    if group is None:
        return folders[0].name.partition("~")[2] if len(folders) == 1 else "jobs"
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in group).lstrip(".") or "group"
