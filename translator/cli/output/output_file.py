"""What `-o FILE` names: a file comes to be whole or not at all, what is no file is never replaced."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from ...errors import Diagnostic, UsageError
from ...state.publish import write_durably

if TYPE_CHECKING:
    from pathlib import Path


def write_output(path: Path, data: bytes, mode: int = 0o600, *, is_named: bool = True) -> None:
    """Write a file; a pipe, a terminal, and what a link such as `/dev/stdout` leads to, get the text.

    Only a link or a pipe that the user has named is used: where others can write, one of a known name may be theirs.
    """
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
