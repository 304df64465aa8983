"""Cancel jobs: say in their journals that they are to end, and ask their backends; nothing is retried afterwards."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from paislurm.backends.base import JobId

from ...errors import Diagnostic, FolderError, PaislurmError, UnreachableError
from ...monitor.poll import open_job
from ...monitor.retry import STOPPED
from ...monitor.transition import abandoned
from ...state.records import Cancelled
from ..ownership import check_own
from .refresh import refresh, refresh_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...monitor.poll import View
    from ...state.job_folder import JobFolder
    from ..session import Session

TRIES = 3
"""While one attempt is being cancelled, it may end and another one begin."""


class Done(NamedTuple):
    """Say in words what was done to end a job, how it stands now, and whether it had ended before."""

    message: str
    view: View
    had_ended: bool = False


class _Asked(NamedTuple):
    """Say which job of a backend was asked to end: "" where there is none."""

    view: View
    job_id: str


def cancel_jobs(session: Session, folders: Sequence[JobFolder]) -> tuple[list[Done], list[PaislurmError]]:
    """Cancel jobs, all of a backend by one call; return what was done, and what was not possible.

    One query for all tells how they stand.
    """
    refusals = {folder.name: refusal(folder, "cancel") for folder in folders}
    errors = [error for error in refusals.values() if error is not None]
    known = [folder for folder in folders if refusals[folder.name] is None]
    done: list[Done] = []
    living: list[View] = []
    for view in refresh_all(session, [open_job(folder) for folder in known]):
        settled = _settled(session, view)
        if settled is None:
            living.append(view)
        else:
            done.append(settled)
    for tries_left in reversed(range(TRIES)):
        asked = list(_ask(session, living, errors))
        living = []
        now = refresh_all(session, [open_job(each.view.folder) for each in asked]) if asked else []
        for (_, job_id), view in zip(asked, now, strict=True):
            if view.job_status.ended or view.history.job_id in ("", job_id) or not tries_left:
                done.append(_asked(view, job_id))
            else:
                living.append(view)
    order = {folder.name: position for position, folder in enumerate(folders)}
    return sorted(done, key=lambda each: order[each.view.folder.name]), errors


def joined(errors: Sequence[PaislurmError]) -> PaislurmError:
    """Return one error for all: of the kind of the first, with what each of them says."""
    if len(errors) == 1:
        return errors[0]
    return type(errors[0])(dict.fromkeys(each for error in errors for each in error.diagnostics))


def refusal(folder: JobFolder, what: str) -> PaislurmError | None:
    """Return why a job cannot be cancelled, or `what` else is to be done, by this user; None if it can."""
    try:
        check_own(folder, what)
        folder.journal.stat()
    except PaislurmError as error:
        return error
    except OSError as error:
        return FolderError(Diagnostic(code="E500", message=f"{error.filename or folder.path}: {error.strerror}"))
    return None


def _settled(session: Session, view: View) -> Done | None:
    """Return what there is to say of a job that needs no cancelling, None for one that does."""
    folder, known = view.folder, view.history
    if view.job_status.ended:
        return Done(f"{folder.name} has already ended: {view.job_status.state}", view, had_ended=True)
    if view.job_status.state == "UNKNOWN" and not view.backend_error and view.observation is None:
        reason = f"given up by the user: {known.backend_label} does not know the job, and it left no result"
        folder.append(abandoned(known, session.now(), STOPPED, reason))
        message = f"{folder.name} is given up: {known.backend_label} does not know job {known.job_id}"
        return Done(message, refresh(session, folder))
    return None


def _asked(view: View, job_id: str) -> Done:
    known, name = view.history, view.folder.name
    if view.job_status.ended and not job_id:
        when = f" before attempt {known.attempt + 1} was submitted" if known.retry is not None else ""
        return Done(f"{name} is cancelled{when}", view)
    which = f"job {known.job_id}" if job_id else f"as soon as it is known whether it reached {known.backend_label}"
    return Done(f"{name} is being cancelled ({which})", view)


def _ask(session: Session, views: Sequence[View], errors: list[PaislurmError]) -> Iterator[_Asked]:
    """Cancel the jobs that backends have, and write down that they are to end; yield those for which that worked.

    Where a backend has none, the journal alone stops the next attempt, so that it must be written.
    """
    by_backend: dict[str, list[_Asked]] = {}
    for view in views:
        known = view.history
        job_id = "" if known.retry is not None else known.job_id
        if job_id:
            by_backend.setdefault(known.backend, []).append(_Asked(view, job_id))
        else:
            view.folder.append(_record(session, view, ""))
            yield _Asked(view, "")
    for name, group in by_backend.items():
        for each in _cancelled(session, name, group, errors):
            with suppress(OSError):
                each.view.folder.append(_record(session, each.view, each.job_id))
                # What the monitor watches of a living job: of one that has not begun no other file will tell.
                os.utime(each.view.folder.attempt(each.view.history.attempt))
            yield each


def _record(session: Session, view: View, job_id: str) -> Cancelled:
    return Cancelled(happened_at=session.now(), attempt=view.history.attempt, user=session.user, job_id=job_id)


def _cancelled(session: Session, name: str, group: Sequence[_Asked], errors: list[PaislurmError]) -> Sequence[_Asked]:
    """Have a backend cancel jobs, and return those that it did. If it refuses all at once, it is asked for each."""
    try:
        session.backend(name).cancel(*(JobId(each.job_id) for each in group))
    except PaislurmError as error:
        if len(group) > 1 and not isinstance(error, UnreachableError):
            return [done for each in group for done in _cancelled(session, name, [each], errors)]
        errors.append(error)
        return ()
    return group
