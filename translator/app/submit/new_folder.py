"""Give a new job's folder its address: the number after the last job of its name, which must have ended."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ...errors import Diagnostic, FolderError, UnreachableError
from ...files.private import remove_tree, rename
from ...monitor.attempt import SETTLED_SECONDS
from ...monitor.reconcile import record_news
from ...state.address import keep_number, publish, writing
from ..jobs.refresh import refresh

if TYPE_CHECKING:
    from pathlib import Path

    from ...monitor.facts import View
    from ...state.job_folder import JobFolder
    from ..session import Session

STALLED_SECONDS = 2 * SETTLED_SECONDS // 3
"""A submit that has taken so long stops, because other processes will soon give it up."""


class Place(NamedTuple):
    """The free folder for a new job, and the newest job of the name, which has ended; None without one."""

    folder: JobFolder
    finished: View | None = None


def place_for(session: Session, name: str) -> Place:
    """Return the place for a new job of a name, `user~job`.

    Raises FolderError if the newest job of the name has not ended, and UnreachableError if its state is unknown.
    """
    newest, free = session.store.newest_and_free(name)
    if newest is None:
        return Place(free)
    try:
        view = refresh(session, newest)
    except (FileNotFoundError, NotADirectoryError):
        if not newest.path.exists():
            # Its submit was undone: its path is free again, and another one may get it.
            return place_for(session, name)
        message = f"{newest.path} exists and is not a job's folder"
        hint = "move it, or submit under another name with `--suffix TEXT`"
        raise FolderError(Diagnostic(code="E515", message=message, hint=hint)) from None
    if view.job_status.ended:
        return Place(free, view)
    if view.backend_error:
        hint = f"try again when {view.history.backend_label} answers, or submit under another name with `--suffix TEXT`"
        message = f"job {newest.name} exists, and its state is unknown: {view.backend_error}"
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


def put_in_place(session: Session, staged: Path, place: Place) -> JobFolder:
    """Give the new folder its name, and return it. Raises FolderError; then the new folder is removed."""
    placed = False
    try:
        if place.finished is not None:
            _record_end(session, place.finished)
        placed = publish(staged, place.folder)
    finally:
        if not placed:
            remove_tree(staged)
    if not placed:
        message = f"another process has just submitted {place.folder.name}"
        hint = "see `paislurm list`, or submit under another name with `--suffix TEXT`"
        raise FolderError(Diagnostic(code="E512", message=message, hint=hint))
    return place.folder


def _record_end(session: Session, finished: View) -> None:
    """Record the end of the finished job: a monitor could judge by later evidence, and retry it beside the new one."""
    with writing(finished.folder.path):
        view = record_news(finished, session.backend)
    if not view.job_status.ended:
        raise _not_ended(view)


def check_in_time(folder: JobFolder, seconds: int) -> None:
    """Raise FolderError if a submit has taken too many seconds: other processes may give it up at any moment."""
    if seconds > STALLED_SECONDS:
        message = f"writing the folder of {folder.name} took {seconds} s, so the job was not submitted"
        raise FolderError(Diagnostic(code="E510", message=message, hint="submit it again"))


def undo(folder: JobFolder, seconds: float) -> None:
    """Remove the new folder, its secrets first, and free its path, unless the submit has taken too many seconds.

    Other processes may then act on the job.
    """
    folder.forget_secrets()
    gone = folder.path.with_name(f".new-{os.urandom(8).hex()}")
    with suppress(OSError):
        if seconds > STALLED_SECONDS:
            keep_number(folder.path)
        rename(folder.path, gone)
        remove_tree(gone)
