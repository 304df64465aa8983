"""Whose a folder is: only what is the caller's alone is run or written; all else is looked at, at most."""

from __future__ import annotations

import os
import pwd
import stat
from typing import TYPE_CHECKING

from ..errors import Diagnostic, FolderError
from ..rendering.shell import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ..state.job_folder import JobFolder

OTHERS_WRITE = 0o022
MAX_LINKS = 40
"""Of a path, as the kernel follows them. Source: path_resolution(7)."""
TRUSTED = 0
"""root can do everything anyway."""


def owner_name(uid: int) -> str:
    """Return what people call a user."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return f"user {uid}"


def check_home(home: Path) -> None:
    """Raise FolderError if others own the folder of all jobs or can write to it; a missing one is made later.

    The same holds for every folder and link on the way to it: who can rename one can put another in its place.
    """
    folders = [home / name for name in ("jobs", "monitor", "local")]
    hint = 'export PAISLURM_HOME="$HOME/.paislurm", or another folder below folders that only you can change'
    for why, mend in replaceable((home, *(folder for folder in folders if folder.is_symlink()))):
        message = f"{why}, and so could put another folder in the place of PAISLURM_HOME, {home}"
        raise FolderError(Diagnostic(code="E542", message=message, hint=mend or hint))
    for folder in (home, *folders):
        check_private(folder)


def replaceable(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Yield why others could put something else in the place of a path, by what is on the way, and what mends it."""
    for path, status in _way(paths):
        if status.st_uid not in (os.geteuid(), TRUSTED):
            yield f"{path} belongs to {owner_name(status.st_uid)}", ""
        elif stat.S_ISDIR(status.st_mode) and status.st_mode & OTHERS_WRITE and not status.st_mode & stat.S_ISVTX:
            mend = f"chmod go-w {quote(path)}" if status.st_uid == os.geteuid() else ""
            yield f"others can write to {path} (mode {stat.S_IMODE(status.st_mode):04o})", mend


def writable_by_others(file: Path) -> str:
    """Say why what is in a file may be another user's doing; "" where only the caller and root can change it."""
    status = file.stat()
    if status.st_uid not in (os.geteuid(), TRUSTED):
        return f"it belongs to {owner_name(status.st_uid)}"
    if status.st_mode & OTHERS_WRITE:
        return f"others can write to it (mode {stat.S_IMODE(status.st_mode):04o})"
    return next((why for why, _ in replaceable((file,))), "")


def _way(paths: Iterable[Path]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the folders and the links that are passed on the way to some paths, as far as they exist."""
    seen: set[str] = set()
    for path in paths:
        rest, at, links = list(reversed(path.parts[1:])), "", 0
        while rest:
            if at not in seen:
                seen.add(at)
                yield at or "/", os.lstat(at or "/")
            part = rest.pop()
            if part == "..":
                at = at.rpartition("/")[0]
                continue
            inner = f"{at}/{part}"
            try:
                status = os.lstat(inner)
            except OSError:
                break
            if stat.S_ISLNK(status.st_mode) and links < MAX_LINKS:
                yield inner, status
                links += 1
                target = os.readlink(inner)  # noqa: PTH115 - every command walks here, often
                rest += reversed([word for word in target.split("/") if word not in ("", ".")])
                at = "" if target.startswith("/") else at
            else:
                at = inner


def check_usable(home: Path) -> None:
    """Raise FolderError for a home that is no folder and can never be one, or that cannot be read.

    A home that is missing has no jobs: the first submit makes it.
    """
    nearest = next((folder for folder in (home, *home.parents) if folder.exists()), home)
    if not nearest.is_dir():
        why = f"{nearest} is no folder"
    elif nearest == home and not os.access(home, os.R_OK | os.X_OK):
        why = "you may not read it"
    elif nearest != home and not os.access(nearest, os.W_OK | os.X_OK):
        why = f"it is missing, and you may not make it in {nearest}"
    else:
        return
    hint = 'export PAISLURM_HOME="$HOME/.paislurm"'
    raise FolderError(Diagnostic(code="E542", message=f"PAISLURM_HOME {home} cannot be used: {why}", hint=hint))


def check_private(folder: Path) -> None:
    """Raise FolderError if others own a folder, or can write to it."""
    mode = _mode(folder)
    if mode is None:
        return
    uid = folder.stat().st_uid
    if uid not in (os.geteuid(), TRUSTED):
        message = f"{folder} belongs to {owner_name(uid)}, and PAISLURM_HOME must be a folder of your own"
        hint = 'export PAISLURM_HOME="$HOME/.paislurm"'
        if os.geteuid() == TRUSTED:
            hint += f"; to look at jobs of {owner_name(uid)}: `runuser -u {owner_name(uid)} -- paislurm status`"
        raise FolderError(Diagnostic(code="E542", message=message, hint=hint))
    if mode & OTHERS_WRITE:
        message = f"others can write to {folder} (mode {mode:04o}), and PAISLURM_HOME must be yours alone"
        raise FolderError(Diagnostic(code="E542", message=message, hint=f"chmod go-w {quote(str(folder))}"))


def _mode(folder: Path) -> int | None:
    try:
        return stat.S_IMODE(folder.stat().st_mode)
    except OSError:
        return None


def check_own(folder: JobFolder, what: str) -> None:
    """Raise FolderError unless a job and its journal are the caller's; `what` is to be done with it.

    What another user wrote there could be any program, and any number of a job or a process.
    """
    for path in (folder.path, folder.journal):
        uid = path.stat().st_uid
        if uid != os.geteuid():
            name = owner_name(uid)
            message = f"{what} is for your own jobs, and {path} belongs to {name}"
            hint = f"let {name} do it; root can, as {name}: `runuser -u {name} -- paislurm {what} ...`"
            raise FolderError(Diagnostic(code="E541", message=message, hint=hint))


def check_script(folder: JobFolder, attempt: int, what: str) -> None:
    """Raise FolderError unless the script of an attempt is the caller's own, and nobody else can write to it."""
    check_own(folder, what)
    script = folder.script(attempt)
    for path in (folder.path, script.parent.parent, script.parent, script):
        status = path.stat()
        if status.st_uid != os.geteuid() or status.st_mode & OTHERS_WRITE:
            who = owner_name(status.st_uid) if status.st_uid != os.geteuid() else "others"
            message = f"{what} runs the script of the job, and {who} can write to {path}"
            hint = f"see what is there, and if it is as it was: chmod go-w {quote(str(path))}"
            raise FolderError(Diagnostic(code="E541", message=message, hint=hint))


def is_private(paths: Iterable[Path]) -> bool:
    """Tell whether all are the caller's, and nobody else can write to them."""
    try:
        found = [path.stat() for path in paths]
    except OSError:
        return False
    return all(status.st_uid == os.geteuid() and not status.st_mode & OTHERS_WRITE for status in found)
