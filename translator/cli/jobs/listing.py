"""Gather a line for every job: of ended ones from their journals, of living ones with one query for all."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from ...monitor.job_status import JobStatus
from ...monitor.poll import open_job, recorded_status
from ...monitor.waits import advice
from ...state.history import History
from ..context import user_name
from ..output.views import age, format_time
from .asking import BY_A_PERSON
from .refresh import refresh_all

if TYPE_CHECKING:
    from ...monitor.poll import Opened
    from ...state.job_folder import JobFolder, Store

COLUMNS = ("job", "state", "code", "id", "tasks", "submitted", "age")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Hold what a list shows of a job. `completed` is None where it is not known; `helps` is against what it waits for.

    `readable` is false where the journal cannot be read: then the reason says why, and the rest is not known.

    That the time from which on it waits becomes known is no change.
    """

    name: str
    state: str
    code: int | None
    reason: str
    attempt: int
    backend: str
    job_id: str
    completed: int | None
    tasks: int
    created: int
    submitted: int | None
    ended: bool
    folder: str
    waits_since: int | None = field(default=None, compare=False)
    helps: str = ""
    readable: bool = True

    def as_dict(self) -> dict[str, object]:
        """Return the line for `--json`."""
        return asdict(self)


def lines(store: Store, *, everything: bool, max_age: float = BY_A_PERSON) -> tuple[list[Line], list[str]]:
    """Return the lines, the newest job first, and why backends did not answer, or did `max_age` seconds ago at most."""
    found: list[Line] = []
    living: list[Opened] = []
    for folder in store.all():
        try:
            known = folder.summary()
            if not everything and known.job and folder.name != known.full_name:
                continue
            if known.ended is not None:
                found.append(_line(folder, known, recorded_status(known.ended), known.ended.completed))
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
    found.sort(key=lambda line: (line.submitted or line.created, line.name), reverse=True)
    return found, sorted(problems)


def row(line: Line, now: int) -> tuple[str, ...]:
    """Return a line for a table with COLUMNS."""
    code = str(line.code) if line.code else "-"
    tasks = f"{'-' if line.completed is None else line.completed}/{line.tasks if line.readable else '-'}"
    begun = line.submitted or line.created
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


def _line(folder: JobFolder, known: History, job_status: JobStatus, completed: int | None) -> Line:
    return Line(
        name=folder.name,
        state=job_status.state,
        code=job_status.code,
        reason=job_status.reason,
        attempt=known.attempt,
        backend=known.backend,
        job_id=known.job_id,
        completed=completed,
        tasks=known.tasks,
        created=known.created,
        submitted=known.submitted,
        ended=job_status.ended,
        folder=str(folder.path),
        waits_since=job_status.since,
        helps=advice(job_status.waits),
    )
