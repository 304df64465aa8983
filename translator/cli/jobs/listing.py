"""Gather a line for every job: of ended ones from their journals, of living ones with one query for all."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING

from ...lazy import dataclass
from ...monitor.job_status import JobStatus
from ...monitor.poll import final_state, open_job
from ...monitor.waits import advice
from ...state.ended_jobs import EndedJob, summary
from ...state.history import History
from ..context import user_name
from ..output.views import age, format_time
from .asking import BY_A_PERSON
from .refresh import refresh_all

if TYPE_CHECKING:
    from ...monitor.poll import Opened
    from ...state.job_folder import JobFolder, Store

COLUMNS = ("job", "state", "exit code", "id", "tasks ended", "submitted", "age")


@dataclass(frozen=True, kw_only=True)
class Line:
    """Hold what a list shows of a job. `completed` is None where it is not known; `help` is against what it waits for.

    `readable` is false where the journal cannot be read: then the reason says why, and the rest is not known.

    That the time from which on it waits becomes known is no change.
    """

    name: str
    state: str
    exit_code: int | None
    reason: str
    attempt: int
    backend: str
    job_id: str
    completed: int | None
    task_count: int
    created_at: int
    submitted_at: int | None
    ended: bool
    folder: str
    waits_began_at: int | None = field(default=None, compare=False)
    help: str = ""
    readable: bool = True

    def as_dict(self) -> dict[str, object]:
        """Return the line for `--json`."""
        return {**vars(self), "job_id": self.job_id or None}


def lines(store: Store, *, everything: bool, max_age: float = BY_A_PERSON) -> tuple[list[Line], list[str]]:
    """Return the lines, the newest job first, and why backends did not answer, or did `max_age` seconds ago at most."""
    found: list[Line] = []
    living: list[Opened] = []
    for name, job in store.look():
        if isinstance(job, EndedJob):
            if everything or not job.job or name == job.full_name:
                found.append(_ended(name, job, f"{store.jobs}/{name}"))
            continue
        folder = job.folder
        try:
            known = job.read()
            if not everything and known.job and name != known.full_name:
                continue
            if known.ended is not None:
                found.append(_ended(name, summary(known), str(folder.path)))
                continue
            opened = open_job(folder)
        except NotADirectoryError:
            continue
        except OSError as error:
            if is_anothers(folder) or is_gone(folder):
                continue
            found.append(_unreadable(folder, error.strerror or str(error)))
            continue
        if opened.history.job:
            living.append(opened)
        else:
            found.append(_unreadable(folder, next(iter(opened.read_errors), "it is empty")))
    problems: set[str] = set()
    for view in refresh_all(living, max_age=max_age):
        completed = sum(task.completed for task in view.tasks) if view.tasks else None
        found.append(_line(view.folder, view.history, view.job_status, completed))
        problems |= {view.backend_error} - {""}
    found.sort(key=lambda line: (line.submitted_at or line.created_at, line.name), reverse=True)
    return found, sorted(problems)


def row(line: Line, now: int) -> tuple[str, ...]:
    """Return a line for a table with COLUMNS."""
    code = str(line.exit_code) if line.exit_code else "-"
    completed = "-" if line.completed is None else line.completed
    tasks = f"{completed} of {line.task_count}" if line.readable else "-"
    begun = line.submitted_at or line.created_at
    return (
        line.name.removeprefix(f"{user_name()}~"),
        line.state,
        code,
        line.job_id or "-",
        tasks,
        format_time(begun or None),
        age(now - begun) if begun else "-",
    )


def is_anothers(folder: JobFolder) -> bool:
    """Tell whether a job is another user's who shows it to nobody, in a home that users share."""
    with suppress(OSError):
        return folder.path.stat().st_uid != os.geteuid()
    return False


def is_gone(folder: JobFolder) -> bool:
    """Tell whether a job has another name by now, as when it is submitted again."""
    return not folder.path.exists()


def _unreadable(folder: JobFolder, why: str) -> Line:
    reason = f"its journal cannot be read ({why}): repair {folder.journal}, or remove the folder"
    job_status = JobStatus(state="UNKNOWN", code=None, reason=reason, ended=False)
    return replace(_line(folder, History(), job_status, None), readable=False)


def _ended(name: str, job: EndedJob, folder: str) -> Line:
    return Line(
        name=name,
        state=final_state(job.state),
        exit_code=job.exit_code,
        reason=job.reason,
        attempt=job.attempt,
        backend=job.backend,
        job_id=job.job_id,
        completed=job.completed,
        task_count=job.task_count,
        created_at=job.created,
        submitted_at=job.submitted,
        ended=True,
        folder=folder,
    )


def _line(folder: JobFolder, known: History, job_status: JobStatus, completed: int | None) -> Line:
    return Line(
        name=folder.name,
        state=job_status.state,
        exit_code=job_status.code,
        reason=job_status.reason,
        attempt=known.attempt,
        backend=known.backend,
        job_id=known.job_id,
        completed=completed,
        task_count=known.tasks,
        created_at=known.created,
        submitted_at=known.submitted,
        ended=job_status.ended,
        folder=str(folder.path),
        waits_began_at=job_status.since,
        help=advice(job_status.waits),
    )
