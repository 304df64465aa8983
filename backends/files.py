"""Files of jobs: written such that nobody else can write to them, and read as what anybody may have left there."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MAX_SCRIPT = 64 << 20


def private(path: str, flags: int) -> int:
    """Open a file for `open`; a new one is the user's alone, whatever the umask."""
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def write_text(path: Path, text: str) -> None:
    """Write a file of the user's alone."""
    with open(path, "w", encoding="utf-8", opener=private) as file:
        file.write(text)


def make_private(folder: Path) -> None:
    """Make a folder that nobody else can enter, whatever the umask, and those above it that are missing."""
    if not folder.parent.exists():
        make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def read_text(path: Path, limit: int = MAX_SCRIPT) -> str:
    """Return what is in a regular file; OSError for anything else and for more than `limit` bytes.

    What is none is not opened: with some devices that does something. O_NONBLOCK: opening a pipe that takes its place
    would wait for a writer.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise FileNotFoundError(None, "not a regular file", str(path))
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileNotFoundError(None, "not a regular file", str(path))
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(None, f"it has more than {limit} bytes", str(path))
    return data.decode("utf-8", errors="surrogateescape")
