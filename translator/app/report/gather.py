"""Gather the data of reports: the journal, the files of all attempts, and the current job status."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...errors import BackendError
from ...monitor.status import backend_state
from ...monitor.watching.job_files import result_of
from ...report.build import DETAILED, AttemptFiles, Endpoint, JobEvidence, job_report
from ...report.cost import job_cost
from ...report.model import Tail
from ...state.journal import read
from ...state.task_reports import read_peers, read_runs, read_scripts
from ..jobs.refresh import refresh_all
from ..results.failure import failure_of
from ..results.fetching import fetch, run_folder_with_logs
from ..results.tail import open_log, start_of_last_lines
from .accounts import Accounts, OfJob, accounts
from .cost import attempt_uses
from .source import linked_source, run_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from ...monitor.poll import View
    from ...report.build import AttemptFiles
    from ...report.model import JobReport
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...state.records import JobRole
    from ...state.result import Result, TaskResult
    from ..session import Session


MAX_ATTEMPTS = 200
"""The number of attempts, the newest, that a report shows."""


def job_reports(
    session: Session, folders: Sequence[JobFolder], *, site: str | None = None, details: bool
) -> list[JobReport]:
    """Return the reports of jobs; `details` adds logs, job file and script. Raises OSError without a journal."""
    from ...monitor.poll import open_job

    views = refresh_all(session, [open_job(folder) for folder in folders])
    return [_report(session, view, site, details=details) for view in views]


def _report(session: Session, view: View, site: str | None, *, details: bool) -> JobReport:
    folder, known = view.folder, view.history
    records = (*read(folder.journal).records, *view.news)
    [accounted] = accounts(session, [OfJob(known, records)], steps=True) if details else [Accounts()]
    first = max(0, known.attempt - MAX_ATTEMPTS + 1)
    notes = [*view.read_errors, *([view.backend_error] if view.backend_error else [])]
    if first:
        notes.append(f"only the last {MAX_ATTEMPTS} of {known.attempt + 1} attempts are shown")
    attempts = []
    for number in range(first, known.attempt + 1):
        files, errors = _attempt(view, number, details=details and number > known.attempt - DETAILED)
        attempts.append(replace(files, usages=accounted.usages.get(number, {})))
        notes += errors
    run = run_facts(folder, known)
    if details:
        notes += _fetch_logs(session, view, attempts)
    return job_report(
        JobEvidence(
            name=folder.name,
            folder=str(folder.path),
            now=session.now(),
            history=known,
            records=records,
            job_status=view.job_status,
            attempts=attempts,
            backend_state=backend_state(view),
            run=run,
            failure=failure_of(session, view),
            tails=tuple(tails(folder, known, attempts)) if details else (),
            cost=job_cost(attempt_uses(view, records, accounted, session.now())) if details else None,
            source=linked_source(session, folder, known, site, run.parameters) if details else None,
            notes=tuple(notes),
        )
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


def _attempt(view: View, number: int, *, details: bool) -> tuple[AttemptFiles, tuple[str, ...]]:
    """Return the files of an attempt, and messages about unreadable ones."""
    folder, roles = view.folder, view.history.roles
    result, errors = result_of(folder, number, late=False)
    if result is not None and not details:
        return AttemptFiles(number=number, result=result), errors
    # Without a result, only reports contain the start times of tasks.
    by_position = read_runs(folder.reports(number))
    runs = {role.folder: by_position.get(position, {}) for position, role in enumerate(roles)}
    if not details:
        return AttemptFiles(number=number, runs=runs), errors
    return AttemptFiles(
        number=number,
        result=result,
        runs=runs,
        scripts={role.folder: read_scripts(folder.scripts(number, role)) for role in roles},
        endpoints=_endpoints(folder, number, roles, result),
    ), errors


def _endpoints(
    folder: JobFolder, number: int, roles: Sequence[JobRole], result: Result | None
) -> dict[tuple[str, int], Endpoint]:
    """Return the endpoints of tasks from the result, else from the reports, which are deleted at the end."""
    names = {position: role.name for position, role in enumerate(roles)}
    found: dict[tuple[str, int], Endpoint] = {
        (names[role], index): Endpoint(peer.address, peer.ports)
        for (role, index), peer in read_peers(folder.reports(number)).items()
        if role in names
    }
    for task in result.tasks if result else ():
        if task.address:
            found[task.role, task.index] = Endpoint(task.address, task.ports)
    return found


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
                if text := _last_lines(log, folder.path.stat().st_uid):
                    yield Tail(attempt=files.number, task=name, stream=stream, text=_final_text(text[1]), whole=text[0])


def first_failed(result: Result | None) -> list[TaskResult]:
    """Return the tasks of an attempt that failed first, at most MAX_TASKS."""
    failed = [task for task in result.tasks if task.state == "FAILED"] if result else []
    return sorted(failed, key=lambda task: task.ended_at or 0)[:MAX_TASKS]


def _last_lines(log: Path, owner: int) -> tuple[bool, str] | None:
    """Return whether the text is the whole log, and the last lines; None for an empty or unreadable log."""
    start = start_of_last_lines(log, MAX_LINES, owner)
    try:
        descriptor = open_log(log, owner)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        start = max(start, size - MAX_BYTES)
        file.seek(start)
        data = file.read(MAX_BYTES)
    return (start == 0, data.decode(errors="replace")) if data.strip() else None


def _final_text(text: str) -> str:
    """Return text as a terminal shows it at the end: only the last state of a progress bar."""
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.splitlines())
