"""Paths of the user: who may read and replace them, output files, hints for missing ones, and this host in names."""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Diagnostic, FolderError, UsageError, nearest
from ..files.private import OTHERS_WRITE, TRUSTED, owner_name, replaceable, write_durably
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


_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)


def write_output(path: Path, data: bytes, mode: int = 0o600, *, is_named: bool = True) -> None:
    """Write a file atomically; write directly to a pipe, a terminal, or the target of a link such as `/dev/stdout`.

    A link or pipe is used only if the user named it: in a shared folder, one with a known name may be an attack.
    Raises FolderError with the path if it cannot be written.
    """
    try:
        _write(path, data, mode, is_named=is_named)
    except BrokenPipeError:
        raise
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise FolderError(Diagnostic(code="E500", message=message, hint=_hint(path, error))) from None


def _write(path: Path, data: bytes, mode: int, *, is_named: bool) -> None:
    is_link, kind = path.is_symlink(), path.stat().st_mode if path.exists() else stat.S_IFREG
    if not is_named and (is_link or not stat.S_ISREG(kind)):
        raise _refusal(path, "a link" if is_link else "no file")
    if stat.S_ISREG(kind) and not is_link:
        write_durably(path, data, mode)
    elif stat.S_ISREG(kind) or stat.S_ISCHR(kind) or stat.S_ISFIFO(kind):
        with path.open("wb") as stream:
            stream.write(data)
    else:
        what = "a folder" if stat.S_ISDIR(kind) else "a device" if stat.S_ISBLK(kind) else "no file"
        raise _refusal(path, what)


def _refusal(path: Path, what: str) -> UsageError:
    message = f"refusing to write to {path}: it is {what}"
    return UsageError(Diagnostic(code="E544", message=message, hint="name a file"))


def _hint(path: Path, error: OSError) -> str:
    """Return the hint for a file that cannot be written."""
    above = path.parent
    if not above.is_dir():
        what = f"`{above}` is not a folder" if above.exists() else f"folder `{above}` does not exist"
        return f"{what}: name another file with `-o`"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free disk space, or name another file with `-o`"
    return f"you cannot write to `{above}`: name another file with `-o`" if error.errno in _DENIED else ""


_MOST = 1000
"""Most names of a folder that are considered."""
_ENDINGS = (".yaml", ".yml", ".json")


def hint_at_files(file: str, error: OSError) -> str:
    """Return a hint: a similar name, or a file in it if it is a folder; "" without one."""
    if not file:
        return "the name is empty: check the shell's variables"
    path = Path(file)
    if error.errno == errno.EISDIR:
        inside = [name for name in _names(path) if name.endswith(_ENDINGS)]
        return f"it is a folder: use a file in it, such as `{path / min(inside)}`" if inside else "it is a folder"
    if error.errno == errno.ENOTDIR or (error.errno == errno.ENOENT and not path.parent.is_dir()):
        return f"folder `{path.parent}` does not exist"
    if error.errno != errno.ENOENT:
        return ""
    rows = sorted(
        (each.suffix in _ENDINGS, each.suffix == path.suffix, each) for each in map(Path, _names(path.parent))
    )
    stems = {each.stem: each for *_, each in rows}
    near = nearest(path.stem, stems)
    return (
        f"did you mean `{path.parent / stems[near]}`?"
        if near
        else f"no file in `{path.parent.absolute()}` has a similar name"
    )


def _names(folder: Path) -> list[str]:
    """Return the names of the first visible files in a folder."""
    with suppress(OSError), os.scandir(folder) as found:
        return [each.name for each in islice(found, _MOST) if each.name[0] != "." and each.is_file()]
    return []


def this_host() -> str:
    """Return the name of this machine for a file's name."""
    return re.sub(r"[^\w.-]", "_", os.uname().nodename, flags=re.ASCII)
