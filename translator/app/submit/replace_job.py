"""Give a new job's folder its name, which a finished job may have: that one is moved away; all of it or nothing."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ...errors import Diagnostic, FolderError, UnreachableError
from ...state.publish import archive, publish, remove, restore
from ..jobs.refresh import refresh

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ...monitor.poll import View
    from ...state.job_folder import JobFolder
    from ..session import Session


def finished_in(session: Session, folder: JobFolder) -> View | None:
    """Return the finished job that has the name, or None.

    Raises FolderError if a job that lives has it, and UnreachableError if nobody knows whether it lives.
    """
    try:
        view = refresh(session, folder)
    except (FileNotFoundError, NotADirectoryError):
        if not folder.path.exists():
            return None
        message = f"{folder.path} is there and holds no job"
        hint = "move it away, or submit under another name: `--suffix TEXT`"
        raise FolderError(Diagnostic(code="E515", message=message, hint=hint)) from None
    if view.job_status.ended:
        return view
    if view.backend_error:
        hint = f"try again when {view.history.backend_label} answers, or submit under another name: `--suffix TEXT`"
        message = (
            f"a job of the name {folder.name} is there, and whether it has ended is not known: {view.backend_error}"
        )
        raise UnreachableError(Diagnostic(code="E513", message=message, hint=hint))
    known = view.history
    what = f"job {known.job_id}" if known.job_id else f"it may or may not have reached {known.backend_label}"
    if known.is_held_back or known.is_between_attempts:
        what = view.job_status.reason
    message = f"{folder.name} has not ended yet: {view.job_status.state}, {what}"
    hint = f"`paislurm cancel {known.job}` ends it; `--suffix TEXT` submits under another name"
    raise FolderError(Diagnostic(code="E511", message=message, hint=hint))


def put_in_place(staged: Path, folder: JobFolder, finished: View | None) -> JobFolder | None:
    """Give the new folder its name, and return the finished job's, moved away; or undo it and raise."""
    old: JobFolder | None = None
    placed = False
    try:
        if finished is not None:
            old = _retire(finished)
        placed = publish(staged, folder)
    finally:
        if not placed:
            remove(staged)
            if old is not None:
                restore(old, folder)
    if not placed:
        raise _name_taken(folder)
    return old


def undo(folder: JobFolder, old: JobFolder | None) -> None:
    """Take the new folder away, its secrets first, then out of its name, then as a whole; put the old one back."""
    remove(folder.secrets)
    gone = folder.path.with_name(f".new-{os.urandom(8).hex()}")
    with suppress(OSError):
        folder.path.rename(gone)
        remove(gone)
    if old is not None:
        restore(old, folder)


def _retire(finished: View) -> JobFolder:
    """Move the folder away that was found finished, and only that one."""
    folder = finished.folder
    try:
        with _opened(folder.path) as checked:
            if folder.history().tag != finished.history.tag:
                raise _name_taken(folder)
            old = archive(folder, checked)
    except FileNotFoundError:
        raise _name_taken(folder) from None
    if old is None:
        raise _name_taken(folder)
    return old


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _name_taken(folder: JobFolder) -> FolderError:
    message = f"another submit of {folder.name} was faster"
    hint = "`paislurm list` shows it; `--suffix TEXT` submits under another name"
    return FolderError(Diagnostic(code="E512", message=message, hint=hint))
