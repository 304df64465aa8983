"""Which of a sweep's jobs are there already, what is in the way of the others, and what their group is called."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ....errors import PaislurmError
from ....monitor.attempt import NEVER_TAKEN
from ....monitor.poll import open_job
from ....monitor.reconcile import REFUSED
from ....state.safe_read import read_end
from ...jobs.groups import jobs_of_group
from ...jobs.refresh import refresh_all
from ..masking import kept_text
from ..replace_job import finished_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....monitor.poll import View
    from ....state.history import History
    from ...session import Session
    from ..prepare import Prepared

MAX_TEXT = 64 << 20


class Group(Struct, frozen=True, kw_only=True):
    """Hold a sweep: its name, the jobs that are there, and those that are missing, each with what has its name."""

    name: str
    present: tuple[Prepared, ...]
    missing: tuple[tuple[Prepared, View | None], ...]


def group_of(session: Session, jobs: Sequence[Prepared], points: Sequence[Mapping[str, str]], name: str) -> Group:
    """Return the sweep that these jobs are, of a job of this name.

    A job is there if it was submitted of the same file for the same point, whatever became of it, unless it never
    reached the backend. Raises what is in the way of the missing ones, all at once.
    """
    present: list[Prepared] = []
    missing: list[tuple[Prepared, View | None]] = []
    faults: list[PaislurmError] = []
    group = ""
    found = _histories(session, jobs)
    for job, point in zip(jobs, points, strict=True):
        known = found.get(job.folder.name)
        if known is not None and dict(known.sweep) == dict(point) and _has_text(job):
            present.append(job)
            group = group or known.group
            continue
        try:
            missing.append((replace(job, sweep=dict(point)), finished_in(session, job.folder)))
        except PaislurmError as error:
            faults.append(error)
    if faults:
        faults[0].diagnostics = tuple(each for fault in faults for each in fault.diagnostics)
        raise faults[0]
    group = group or _free_name(session, name, set(points[0]))
    return Group(
        name=group,
        present=tuple(present),
        missing=tuple((replace(job, group=group), finished) for job, finished in missing),
    )


def _histories(session: Session, jobs: Sequence[Prepared]) -> dict[str, History]:
    """Return what is known of the jobs that are there, by name, by one question for all of them."""
    opened = []
    for job in jobs:
        with suppress(OSError):
            opened.append(open_job(job.folder))
    views = {view.folder.name: view.history for view in refresh_all(session, opened)} if opened else {}
    return {name: known for name, known in views.items() if not _never_reached(known)}


def _never_reached(known: History) -> bool:
    end = known.ended
    return end is not None and not known.job_id and end.exit_code in (NEVER_TAKEN, REFUSED)


def _has_text(job: Prepared) -> bool:
    """Tell whether the job that has the name was made of the same text."""
    with suppress(OSError):
        data, whole = read_end(job.folder.path / "job.yaml", MAX_TEXT)
        return whole and data == kept_text(job.text, job.compiled.document)
    return False


def _free_name(session: Session, name: str, parameters: set[str]) -> str:
    """Return the name, or with a number behind it the first that no living job has, nor a group of other parameters."""
    for number in count(1):
        group = name if number == 1 else f"{name}-{number}"
        try:
            finished_in(session, session.store.folder(session.user, group))
        except PaislurmError:
            continue
        members = jobs_of_group(session.store, group, user=session.user)
        if all(set(folder.history().sweep) == parameters for folder in members):
            return group
    raise AssertionError("numbers do not end")
