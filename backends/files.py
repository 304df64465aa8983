"""Write private files of jobs, and read files that any process may have written."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MAX_SCRIPT = 64 << 20


def private(path: str, flags: int) -> int:
    """Open a file, as an `opener` for `open`; only the user can access a new file, whatever the umask."""
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def write_text(path: Path, text: str) -> None:
    """Write a file that only the user can access."""
    with open(path, "w", encoding="utf-8", opener=private) as file:
        file.write(text)


def make_private(folder: Path) -> None:
    """Make a folder that only the user can enter, whatever the umask, with its missing parents."""
    if not folder.parent.exists():
        make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def read_text(path: Path, limit: int = MAX_SCRIPT) -> str:
    """Return the content of a regular file. Raises OSError for any other file and for more than `limit` bytes.

    Check the type before opening: opening some devices has effects. O_NONBLOCK: opening a pipe that replaced the
    file would wait for a writer.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise FileNotFoundError(None, "not a regular file", str(path))
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileNotFoundError(None, "not a regular file", str(path))
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(None, f"file has more than {limit} bytes", str(path))
    return data.decode("utf-8", errors="surrogateescape")
