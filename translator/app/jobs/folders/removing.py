"""Remove jobs: their selection, checks, and the deletion of files."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from paislurm.backends.registry import is_remote

from ....errors import Diagnostic, FolderError, NotFoundError
from ....folded_names import by_numbers
from ....monitor.poll import Opened, open_job
from ....state.tidying.removal import BULKY, check_removable, delete, hide, hide_bulk
from ...ownership import check_own
from ..refresh import is_own, refresh_all
from ..selecting import select

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ....monitor.poll import View
    from ....state.job_folder import JobFolder
    from ...session import Session


def ended_at(job: Opened | View) -> int | None:
    """Return when a job ended, by its journal; None without an end."""
    end = job.history.ended
    return None if end is None else end.ended_at or end.happened_at


def named(session: Session, words: Sequence[str]) -> list[Opened]:
    """Return the ended jobs of the words.

    Raises NotFoundError for an unknown job, and FolderError for another user's or an unfinished one, before any
    removal.
    """
    jobs = [_opened(folder) for folder in select(session.store, words, user=session.user)]
    for job in jobs:
        check_own(job.folder, "remove")
    views = refresh_all(session, jobs)
    living = [view for view in views if not view.job_status.ended]
    if living:
        several = len(jobs) > len(living)
        raise FolderError([_has_not_ended(view, several=several) for view in living])
    # Not opened again: a submit may have given the name to another job meanwhile.
    return [Opened(folder=view.folder, history=view.history) for view in views]


def matching(session: Session, words: Sequence[str], older_than: int | None, states: Collection[str]) -> list[Opened]:
    """Return the user's own jobs, or those of the words, that match `older_than` (seconds) and `states`."""
    folders = select(session.store, words, user=session.user) if words else session.store.all()
    found = []
    for folder in folders:
        # An unreadable job may not have ended.
        with suppress(OSError):
            job = open_job(folder)
            end = ended_at(job)
            old = end is not None and (older_than is None or session.now() - end >= older_than)
            if (
                old
                and is_own(session, job)
                and (not states or (job.history.ended and job.history.ended.state in states))
            ):
                found.append(job)
    return found if words else sorted(found, key=lambda job: by_numbers(job.folder.name))


def remove_job(session: Session, job: Opened, *, keep_logs: bool = False) -> str:
    """Remove an ended job, or with `keep_logs` its working directories; return a message about remaining files.

    Raises FolderError if another process changes the job, and OSError if its folder cannot be renamed.
    """
    check_removable(job.folder)
    # First, in case this process is killed: nobody else would remove those of a hidden folder for a day.
    job.folder.forget_secrets()
    left = _remove_remote(session, job, keep_logs=keep_logs) if is_remote(job.history.backend) else ""
    hidden = hide_bulk(job.folder) if keep_logs else hide(job.folder, job.history)
    if hidden is None:
        message = f"{job.folder.name} is being replaced or removed by another process"
        raise FolderError(Diagnostic(code="E593", message=message, hint="check with `paislurm list --all`"))
    behind = " ".join(str(path) for path in hidden if not delete(path))
    return "; ".join(filter(None, [left, behind and f"{behind} could not be deleted yet"]))


def _remove_remote(session: Session, job: Opened, *, keep_logs: bool) -> str:
    """Remove the folder of a job on its login node; return a message on failure."""
    from paislurm.backends.ssh.backend import SshBackend

    known = job.history
    there = session.backend(known.backend)
    assert isinstance(there, SshBackend)
    attempts = range(known.attempt + 1)
    below = [f"/attempts/{attempt}/{name}" for attempt in attempts for name in BULKY] if keep_logs else [""]
    if there.remove_folder(known.run_folder(job.folder.path), below):
        return ""
    return f"its folder at {known.backend_label} could not be removed yet; it will be when the login node answers"


def _opened(folder: JobFolder) -> Opened:
    try:
        job = open_job(folder)
    except OSError as error:
        message = f"the journal of {folder.path} cannot be read: {error.strerror or error}"
        hint = "it is unknown whether the job has ended; if it has, remove the folder by hand"
        raise NotFoundError(Diagnostic(code="E594", message=message, hint=hint)) from None
    return job


def _has_not_ended(view: View, *, several: bool) -> Diagnostic:
    name = view.history.job or view.folder.name
    message = f"{view.folder.name} has not ended: {view.job_status.state}"
    ended = "; use `--older-than 1s` to remove only ended jobs" if several else ""
    hint = f"cancel it with `paislurm cancel {name}`; nothing was removed{ended}"
    return Diagnostic(code="E591", message=message, hint=hint)
