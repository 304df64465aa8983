"""What `-o FILE` names: a file comes to be whole or not at all, what is no file is never replaced."""

from __future__ import annotations

import errno
import stat
from typing import TYPE_CHECKING

from ..errors import Diagnostic, FolderError, UsageError
from ..state.publish import write_durably

if TYPE_CHECKING:
    from pathlib import Path

_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)


def write_output(path: Path, data: bytes, mode: int = 0o600, *, is_named: bool = True) -> None:
    """Write a file; a pipe, a terminal, and what a link such as `/dev/stdout` leads to, get the text.

    Only a link or a pipe that the user has named is used: where others can write, one of a known name may be theirs.
    Raises `FolderError` that names the file where it cannot be written.
    """
    try:
        _write(path, data, mode, is_named=is_named)
    except BrokenPipeError:
        raise
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise FolderError(Diagnostic(code="E500", message=message, hint=_hint(path, error))) from None


def _write(path: Path, data: bytes, mode: int, *, is_named: bool) -> None:
    kind = path.stat().st_mode if path.exists() else stat.S_IFREG
    if not is_named and (path.is_symlink() or not stat.S_ISREG(kind)):
        raise _refusal(path, "a link" if path.is_symlink() else "no file")
    if stat.S_ISREG(kind) and not path.is_symlink():
        write_durably(path, data)
        path.chmod(mode)
    elif stat.S_ISREG(kind) or stat.S_ISCHR(kind) or stat.S_ISFIFO(kind):
        with path.open("wb") as stream:
            stream.write(data)
    else:
        what = "a folder" if stat.S_ISDIR(kind) else "a device" if stat.S_ISBLK(kind) else "no file"
        raise _refusal(path, what)


def _refusal(path: Path, what: str) -> UsageError:
    message = f"{path} is {what}: nothing is written there"
    return UsageError(Diagnostic(code="E544", message=message, hint="name a file"))


def _hint(path: Path, error: OSError) -> str:
    """Return what to do about a file that cannot be written."""
    above = path.parent
    if not above.is_dir():
        what = f"`{above}` is no folder" if above.exists() else f"there is no folder `{above}`"
        return f"{what}: name a file elsewhere with `-o`"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "make room there, or name a file elsewhere with `-o`"
    return f"you may not write in `{above}`: name a file elsewhere with `-o`" if error.errno in _DENIED else ""
