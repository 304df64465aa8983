"""Ownership checks: execute or write only what the caller alone owns; anything else is read-only."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from ..errors import Diagnostic, FolderError
from ..files.trust import OTHERS_WRITE, TRUSTED, owner_name, replaceable
from ..rendering.shell import quote

if TYPE_CHECKING:
    from pathlib import Path

    from ..state.job_folder import JobFolder


def check_home(home: Path) -> None:
    """Raise FolderError if others own the home or can write to it; a missing home is created later.

    The check includes every folder and link on its path: a user who can rename one can replace the home.
    """
    folders = [home / name for name in ("jobs", "monitor", "local")]
    hint = 'export PAISLURM_HOME="$HOME/.paislurm", or another folder whose parents only you can change'
    for why, mend in replaceable((home, *(folder for folder in folders if folder.is_symlink()))):
        message = f"PAISLURM_HOME {home} is not safe: others can replace it, because {why}"
        raise FolderError(Diagnostic(code="E542", message=message, hint=f"chmod go-w {quote(mend)}" if mend else hint))
    for folder in (home, *folders):
        check_private(folder)


def check_usable(home: Path) -> None:
    """Raise FolderError for a home that is not a folder, cannot be created, or cannot be read.

    A missing home has no jobs: the first submit creates it.
    """
    nearest = next((folder for folder in (home, *home.parents) if folder.exists()), home)
    if not nearest.is_dir():
        why = f"{nearest} is not a folder"
    elif nearest == home and not os.access(home, os.R_OK | os.X_OK):
        why = "you cannot read it"
    elif nearest != home and not os.access(nearest, os.W_OK | os.X_OK):
        why = f"it does not exist, and you cannot create it in {nearest}"
    else:
        return
    hint = "set PAISLURM_HOME to a folder of your own that all nodes share"
    raise FolderError(Diagnostic(code="E542", message=f"PAISLURM_HOME {home} cannot be used: {why}", hint=hint))


def check_private(folder: Path) -> None:
    """Raise FolderError if others own a folder or can write to it."""
    mode = _mode(folder)
    if mode is None:
        return
    uid = folder.stat().st_uid
    if uid not in (os.geteuid(), TRUSTED):
        message = f"{folder} belongs to {owner_name(uid)}, but PAISLURM_HOME must be a folder that you own"
        hint = 'export PAISLURM_HOME="$HOME/.paislurm"'
        if os.geteuid() == TRUSTED:
            hint += f"; to see jobs of {owner_name(uid)}: `runuser -u {owner_name(uid)} -- paislurm status`"
        raise FolderError(Diagnostic(code="E542", message=message, hint=hint))
    if mode & OTHERS_WRITE:
        message = f"others can write to {folder} (mode {mode:04o}), but only you may write to PAISLURM_HOME"
        raise FolderError(Diagnostic(code="E542", message=message, hint=f"chmod go-w {quote(str(folder))}"))


def _mode(folder: Path) -> int | None:
    try:
        return stat.S_IMODE(folder.stat().st_mode)
    except OSError:
        return None


def check_own(folder: JobFolder, what: str) -> None:
    """Raise FolderError unless the caller owns a job and its journal; `what` is the name of the action.

    Another user could have written any program, and any number of a job or a process.
    """
    for path in (folder.path, folder.journal):
        uid = path.stat().st_uid
        if uid != os.geteuid():
            name = owner_name(uid)
            message = f"{what} needs a job that you own, but {path} belongs to {name}"
            hint = f"ask {name} to do it; as root, run `runuser -u {name} -- paislurm {what} ...`"
            raise FolderError(Diagnostic(code="E541", message=message, hint=hint))


def check_script(folder: JobFolder, attempt: int, what: str) -> None:
    """Raise FolderError unless the caller owns the script of an attempt and nobody else can write to it."""
    check_own(folder, what)
    script = folder.script(attempt)
    for path in (folder.path, script.parent.parent, script.parent, script):
        status = path.stat()
        if status.st_uid != os.geteuid() or status.st_mode & OTHERS_WRITE:
            who = owner_name(status.st_uid) if status.st_uid != os.geteuid() else "others"
            message = f"{what} runs the script of the job, and {who} can write to {path}"
            hint = f"check its contents, then run: chmod go-w {quote(str(path))}"
            raise FolderError(Diagnostic(code="E541", message=message, hint=hint))
