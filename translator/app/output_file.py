"""Writing of `-o FILE`: atomic for files; other things than files are never replaced."""

from __future__ import annotations

import errno
import stat
from typing import TYPE_CHECKING

from ..errors import Diagnostic, FolderError, UsageError
from ..files.private import write_durably

if TYPE_CHECKING:
    from pathlib import Path

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
