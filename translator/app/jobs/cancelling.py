"""Cancel jobs: record it in their journals, so that they are not retried, and cancel them at their backends."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from paislurm.backends.base import JobId

from ...errors import Diagnostic, FolderError, PaislurmError, UnreachableError
from ...exit_codes.codes import STOPPED
from ...monitor.attempt import SETTLED_SECONDS
from ...monitor.claim import shown_name
from ...monitor.job_status import is_anothers
from ...monitor.poll import open_job
from ...monitor.reconcile import is_unknown
from ...monitor.transition import abandoned
from ...plural import attempt_name
from ...state.journal_records import Cancelled
from ...terminal_text import one_line
from ...view.line import JobLine
from ...view.reasons import reason
from ..job_view import job_line
from ..paths import check_own
from .refresh import refresh, refresh_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...monitor.facts import View
    from ...state.job_folder import JobFolder
    from ..session import Session

J_co = TypeVar("J_co", covariant=True)
TRIES = 3
"""The number of tries: an attempt may end during the cancellation, and the next one start."""


class CancelledJob(JobLine, frozen=True, kw_only=True):
    """The state of a cancelled job."""

    message: str
    """The result, in words."""
    had_ended: bool
    """Whether the job had already ended."""


class CancelledJobs(Struct, frozen=True, kw_only=True):
    """Several cancelled jobs."""

    jobs: tuple[CancelledJob, ...]
    """The jobs, in the order of the arguments."""


class Done(NamedTuple):
    """The result of a cancellation: a message, the state of the job, and whether it had already ended."""

    message: str
    view: View
    had_ended: bool = False

    @property
    def job(self) -> CancelledJob:
        """The job, for JSON."""
        return CancelledJob(**asdict(job_line(self.view)), message=self.message, had_ended=self.had_ended)


class _Asked(NamedTuple):
    """A cancelled job, its id at the backend ("" if there is none), and why its journal has no record of it."""

    view: View
    job_id: str
    write_error: OSError | None = None


def cancel_jobs(session: Session, folders: Sequence[JobFolder]) -> tuple[list[Done], list[PaislurmError]]:
    """Cancel jobs with one call for each backend, and return the results and the errors.

    One query polls all jobs: a controller that was killed may have given the number of a job to another one.
    """
    refusals = {folder.name: refusal(folder, "cancel") for folder in folders}
    errors = [error for error in refusals.values() if error is not None]
    known = [folder for folder in folders if refusals[folder.name] is None]
    done: list[Done] = []
    living: list[View] = []
    for view in refresh_all(session, [open_job(folder) for folder in known], max_age=0):
        settled = _settled(session, view)
        if settled is None:
            living.append(view)
        else:
            done.append(settled)
    for tries_left in reversed(range(TRIES)):
        asked = list(_ask(session, living, errors))
        living = []
        # A look that is older than the cancel cannot show whose job it was.
        now = refresh_all(session, [open_job(each.view.folder) for each in asked], max_age=0) if asked else []
        for each, view in zip(asked, now, strict=True):
            # A job between two attempts still has the id of the last one.
            is_next = view.history.job_id not in ("", each.view.history.job_id)
            if not view.job_status.ended and is_next and tries_left:
                living.append(view)
            elif each.write_error is not None and not view.job_status.ended:
                errors.append(_unrecorded(each, each.write_error))
            else:
                done.append(_asked(view, each))
    order = {folder.name: position for position, folder in enumerate(folders)}
    return sorted(done, key=lambda each: order[each.view.folder.name]), errors


class _HasJob(Protocol[J_co]):
    """A result with the job's record for JSON."""

    @property
    def message(self) -> str: ...
    @property
    def job(self) -> J_co: ...


def results(session: Session, done: Sequence[_HasJob[J_co]], errors: Sequence[PaislurmError]) -> list[J_co]:
    """Return the jobs of results. With errors, send an event for each result and raise the errors as one."""
    if errors:
        for each in done:
            session.say(one_line(each.message))
        raise joined(errors)
    return [each.job for each in done]


def joined(errors: Sequence[PaislurmError]) -> PaislurmError:
    """Return one error for all, of the type of the first, with all diagnostics."""
    if len(errors) == 1:
        return errors[0]
    return type(errors[0])(dict.fromkeys(each for error in errors for each in error.diagnostics))


def refusal(folder: JobFolder, what: str) -> PaislurmError | None:
    """Return why this user cannot cancel a job (or do `what`); None if allowed."""
    try:
        check_own(folder, what)
        folder.journal.stat()
    except PaislurmError as error:
        return error
    except OSError as error:
        return FolderError(Diagnostic(code="E500", message=f"{error.filename or folder.path}: {error.strerror}"))
    return None


def _settled(session: Session, view: View) -> Done | None:
    """Return the result for a job that need not be cancelled, else None."""
    folder, known = view.folder, view.history
    if view.job_status.ended:
        return Done(f"{folder.name} has already ended: {view.job_status.state}", view, had_ended=True)
    if is_unknown(view):
        with suppress(OSError):
            folder.take_claim(known.attempt, SETTLED_SECONDS)
        folder.append(Cancelled(happened_at=session.now(), attempt=known.attempt, user=session.user))
        folder.append(abandoned(known, session.now(), STOPPED, reason("given up", label=known.backend_label)))
        message = f"{folder.name} is given up: {known.backend_label} does not know job {known.job_id}"
        return Done(message, refresh(session, folder))
    return None


def _asked(view: View, asked: _Asked) -> Done:
    known, name, job_id, seen = view.history, view.folder.name, asked.job_id, view.observation
    if job_id and is_anothers(seen):
        lost = f"{name} is being cancelled: {known.backend_label} has lost job {job_id}, and another job has its number"
        is_hit = not is_anothers(asked.view.observation)
        return Done(f"{lost} now: if the cancel has ended that one, submit it again" if is_hit else lost, view)
    if view.job_status.ended and not job_id:
        when = f" before {attempt_name(known.attempt + 1)} was submitted" if known.retry is not None else ""
        return Done(f"{name} is cancelled{when}", view)
    which = f"job {known.job_id}" if job_id else f"as soon as it is known whether it reached {known.backend_label}"
    return Done(f"{name} is being cancelled ({which})", view)


def _ask(session: Session, views: Sequence[View], errors: list[PaislurmError]) -> Iterator[_Asked]:
    """Cancel jobs at their backends and record it in their journals; yield those that the backends accepted."""
    by_backend: dict[str, list[_Asked]] = {}
    for view in views:
        known = view.history
        job_id = "" if known.retry is not None else known.job_id
        if job_id:
            by_backend.setdefault(known.backend, []).append(_Asked(view, job_id))
        else:
            yield _recorded(session, _Asked(view, ""))
    for name, group in by_backend.items():
        for each in _cancelled(session, name, group, errors):
            yield _recorded(session, each)


def _recorded(session: Session, asked: _Asked) -> _Asked:
    """Record a cancellation in the job's journal, and wake the monitor."""
    folder, attempt = asked.view.folder, asked.view.history.attempt
    try:
        folder.append(Cancelled(happened_at=session.now(), attempt=attempt, user=session.user, job_id=asked.job_id))
    except OSError as error:
        return asked._replace(write_error=error)
    folder.wake_monitor(attempt)
    return asked


def _unrecorded(asked: _Asked, error: OSError) -> FolderError:
    """Return the error for a cancellation without a record: only the record prevents the next attempt."""
    known, folder = asked.view.history, asked.view.folder
    done = f"{known.backend_label} cancels job {asked.job_id}" if asked.job_id else "no attempt is cancelled"
    message = f"cannot write {folder.journal}: {error.strerror or error}; {done}, and a new attempt may start"
    hint = f"make the file writable or free space there, then run `paislurm cancel {known.job}` again"
    return FolderError(Diagnostic(code="E510", message=message, hint=hint))


def _cancelled(session: Session, name: str, group: Sequence[_Asked], errors: list[PaislurmError]) -> Sequence[_Asked]:
    """Cancel jobs at a backend, and return the successes. If one call for all fails, cancel each job separately."""
    names = {
        JobId(each.job_id): shown_name(each.view.history, seen)
        for each in group
        if not is_anothers(seen := each.view.observation)
    }
    try:
        if names:
            session.backend(name).cancel(*names, names=names)
    except PaislurmError as error:
        if len(group) > 1 and not isinstance(error, UnreachableError):
            return [done for each in group for done in _cancelled(session, name, [each], errors)]
        errors.append(error)
        return ()
    return group
