"""Give a new job's folder its name, and rename a finished job's folder of that name; on an error, undo both."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import Diagnostic, FolderError, UnreachableError
from ...files.open_folder import open_folder
from ...files.private import remove_tree
from ...monitor.attempt import SETTLED_SECONDS
from ...monitor.reconcile import record_news
from ...state.job_folder import JobFolder
from ...state.publish import archive, move, publish, restore, writing
from ..jobs.refresh import refresh

if TYPE_CHECKING:
    from pathlib import Path

    from ...monitor.poll import View
    from ..session import Session

STALLED_SECONDS = 2 * SETTLED_SECONDS // 3
"""A submit that has taken so long stops, because other processes will soon give it up."""


def finished_in(session: Session, folder: JobFolder) -> View | None:
    """Return the finished job of that name, or None.

    Raises FolderError if the job has not ended, and UnreachableError if its state is unknown.
    """
    try:
        view = refresh(session, folder)
    except (FileNotFoundError, NotADirectoryError):
        if not folder.path.exists():
            return None
        message = f"{folder.path} exists and is not a job's folder"
        hint = "move it, or submit under another name with `--suffix TEXT`"
        raise FolderError(Diagnostic(code="E515", message=message, hint=hint)) from None
    if view.job_status.ended:
        return view
    if view.backend_error:
        hint = f"try again when {view.history.backend_label} answers, or submit under another name with `--suffix TEXT`"
        message = f"job {folder.name} exists, and its state is unknown: {view.backend_error}"
        raise UnreachableError(Diagnostic(code="E513", message=message, hint=hint))
    raise _not_ended(view)


def _not_ended(view: View) -> FolderError:
    known, folder = view.history, view.folder
    what = f"job {known.job_id}" if known.job_id else f"it may or may not have reached {known.backend_label}"
    if known.is_held_back or known.is_between_attempts:
        what = view.job_status.reason
    message = f"{folder.name} has not ended yet: {view.job_status.state}, {what}"
    hint = f"cancel it with `paislurm cancel {known.job}`, or submit under another name with `--suffix TEXT`"
    return FolderError(Diagnostic(code="E511", message=message, hint=hint))


def put_in_place(
    session: Session, staged: Path, folder: JobFolder, finished: View | None
) -> tuple[JobFolder, JobFolder | None]:
    """Give the new folder its name, and return it and the renamed folder of the finished job.

    On an error, undo both.
    """
    old: JobFolder | None = None
    placed = False
    try:
        inode = (staged / folder.journal.name).stat().st_ino
        if finished is not None:
            old = _retire(session, finished)
        placed = publish(staged, folder)
    finally:
        if not placed:
            remove_tree(staged)
            if old is not None:
                restore(old, folder)
    if not placed:
        raise _name_taken(folder)
    return JobFolder(path=folder.path, inode=inode), old


def check_in_time(folder: JobFolder, seconds: int) -> None:
    """Raise FolderError if a submit has taken too many seconds: another one may take its name at any moment."""
    if seconds > STALLED_SECONDS:
        message = f"writing the folder of {folder.name} took {seconds} s, so the job was not submitted"
        raise FolderError(Diagnostic(code="E510", message=message, hint="submit it again"))


def undo(folder: JobFolder, old: JobFolder | None) -> None:
    """Remove the new folder, its secrets first, and restore the old one's name; do nothing if the name was taken."""
    folder.forget_secrets()
    gone = folder.path.with_name(f".new-{os.urandom(8).hex()}")
    with suppress(OSError), open_folder(folder.path) as opened:
        if folder.is_in(opened) and move(opened.descriptor, folder.path, gone):
            remove_tree(gone)
            if old is not None:
                restore(old, folder)


def _retire(session: Session, finished: View) -> JobFolder:
    """Rename the folder of the finished job, unless another job has replaced it.

    Its end is recorded first: a monitor could judge by later evidence, and retry the job under its new name.
    """
    folder = finished.folder
    try:
        with open_folder(folder.path) as opened:
            if folder.history().tag != finished.history.tag:
                raise _name_taken(folder)
            with writing(folder.path):
                view = record_news(finished, session.backend)
            if not view.job_status.ended:
                raise _not_ended(view)
            old = archive(folder, opened.descriptor)
    except FileNotFoundError:
        raise _name_taken(folder) from None
    if old is None:
        raise _name_taken(folder)
    return old


def _name_taken(folder: JobFolder) -> FolderError:
    message = f"another process has just submitted {folder.name}"
    hint = "see `paislurm list`, or submit under another name with `--suffix TEXT`"
    return FolderError(Diagnostic(code="E512", message=message, hint=hint))
