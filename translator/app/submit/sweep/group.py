"""The existing and the missing jobs of a sweep, and the name of its group."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ....errors import Diagnostic, PaislurmError, UsageError
from ....files.names import JOB_FILE
from ....files.reading import read_end
from ....monitor.job_status import NEVER_TAKEN
from ....monitor.poll import open_job
from ....monitor.reconcile import REFUSED
from ....monitor.retry import DEADLINE, OUT_OF_MEMORY
from ....state.address import newest, parse
from ....state.job_folder import JobFolder
from ....state.parsed import parse_int
from ...jobs.refresh import refresh_all
from ...jobs.selecting import jobs_of_group
from ..masking import kept_text
from ..place import place_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....monitor.poll import View
    from ....state.history import History
    from ...session import Session
    from ..place import Place
    from ..prepare import Prepared

MAX_TEXT = 64 << 20


class Group(Struct, frozen=True, kw_only=True):
    """A sweep: its name, the folders of its existing jobs, and the missing ones, each with its place."""

    name: str
    present: tuple[str, ...]
    missing: tuple[tuple[Prepared, Place], ...]


CAUSES = {"any": None, "out-of-memory": OUT_OF_MEMORY, "timeout": DEADLINE}
"""The causes of failures that have names, with their exit codes."""


def is_failed(cause: str) -> Callable[[History], bool]:
    """Return whether a job failed for a cause: a name in CAUSES, or an exit code. Raises UsageError for another one."""
    code = CAUSES.get(cause, parse_int(cause))
    if code is None and cause not in CAUSES:
        hint = f"write {', '.join(CAUSES)} or an exit code; the job file goes before `--failed`"
        raise UsageError(Diagnostic(code="E547", message=f"--failed {cause}: unknown cause", hint=hint))
    return lambda known: (
        known.ended is not None and known.ended.state == "FAILED" and code in (None, known.ended.exit_code)
    )


def group_of(
    session: Session,
    jobs: Sequence[Prepared],
    points: Sequence[Mapping[str, str]],
    name: str,
    again: Callable[[History], bool],
) -> Group:
    """Return the sweep of these jobs; `name` is the name of the job file.

    A job exists if the same file was submitted for the same point and reached the backend, whatever its end, except
    those to submit `again`. Raises all errors of the missing jobs together.
    """
    present: list[str] = []
    missing: list[tuple[Prepared, Place]] = []
    faults: list[PaislurmError] = []
    group = ""
    found = _existing(session, jobs)
    for job, point in zip(jobs, points, strict=True):
        view = found.get(job.name)
        if view is not None and dict(view.history.sweep) == dict(point) and _has_text(view.folder, job):
            group = group or view.history.group
            if not again(view.history):
                present.append(view.folder.name)
                continue
        try:
            missing.append((replace(job, sweep=dict(point)), place_for(session, job.name)))
        except PaislurmError as error:
            faults.append(error)
    if faults:
        faults[0].diagnostics = tuple(each for fault in faults for each in fault.diagnostics)
        raise faults[0]
    group = group or _free_name(session, name, set(points[0]))
    return Group(
        name=group,
        present=tuple(present),
        missing=tuple((replace(job, group=group), place) for job, place in missing),
    )


def _existing(session: Session, jobs: Sequence[Prepared]) -> dict[str, View]:
    """Return the newest jobs of the names that reached the backend, with one query for all."""
    opened, folders = [], newest(session.store.names())
    for job in jobs:
        if job.name in folders:
            with suppress(OSError):
                opened.append(open_job(JobFolder(path=session.store.jobs / folders[job.name])))
    views = refresh_all(session, opened) if opened else []
    return {parse(view.folder.name).name: view for view in views if not _never_reached(view.history)}


def _never_reached(known: History) -> bool:
    end = known.ended
    return end is not None and not known.job_id and end.exit_code in (NEVER_TAKEN, REFUSED)


def _has_text(folder: JobFolder, job: Prepared) -> bool:
    """Return whether the existing job in a folder has the same job file."""
    with suppress(OSError):
        data, whole = read_end(folder.path / JOB_FILE, MAX_TEXT)
        return whole and data == kept_text(job.text, job.compiled.document)
    return False


def _free_name(session: Session, name: str, parameters: set[str]) -> str:
    """Return the name, with a number if an unfinished job or a group with other parameters has it."""
    for number in count(1):
        group = name if number == 1 else f"{name}-{number}"
        try:
            place_for(session, f"{session.user}~{group}")
        except PaislurmError:
            continue
        members = jobs_of_group(session.store, group, user=session.user)
        if all(set(folder.history().sweep) == parameters for folder in members):
            return group
    raise AssertionError("numbers do not end")
