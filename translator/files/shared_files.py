"""File operations that work on every shared file system, with the server's time."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from .private import make_private
from .reading import naming, read_end

if TYPE_CHECKING:
    from pathlib import Path


class Stamp(Struct, frozen=True):
    """Identify a file, and hold its modification time by the server's clock."""

    inode: int
    time: float


class Files(Protocol):
    """The file operations for a lock. Each raises OSError."""

    def create(self, name: str, text: str) -> Stamp:
        """Write a new file."""
        ...

    def link(self, old: str, new: str) -> bool:
        """Give a file a second name. Return False if another file has it."""
        ...

    def names(self) -> list[str]:
        """Return the names in the folder."""
        ...

    def text(self, name: str) -> str:
        """Return the text of a small file."""
        ...

    def stamp(self, name: str) -> Stamp | None:
        """Return a file's stamp, None if it does not exist."""
        ...

    def touch(self, name: str, *, at: float | None = None) -> bool:
        """Set a file's time to the server's, or to `at`. Return False if it does not exist."""
        ...

    def remove(self, name: str) -> None:
        """Remove a name if it exists."""
        ...


class SharedFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def create(self, name: str, text: str) -> Stamp:
        """Write a new file. Make its folder if necessary."""
        descriptor = self._new(name)
        try:
            # Only people read the text, and a full disk must not prevent a monitor.
            with suppress(OSError):
                os.write(descriptor, text.encode())
            os.fsync(descriptor)
            return _stamp(os.fstat(descriptor))
        finally:
            os.close(descriptor)

    def now(self) -> float:
        """Return the server's time in seconds since 1970, by the time of a new file."""
        name = f".now-{os.urandom(8).hex()}"
        descriptor = self._new(name)
        try:
            return os.fstat(descriptor).st_mtime
        finally:
            os.close(descriptor)
            self.remove(name)

    def _new(self, name: str) -> int:
        """Create a file and return its descriptor. Make the folder if necessary."""
        path, flags = self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            return os.open(path, flags, 0o600)
        except FileNotFoundError:
            make_private(self._folder)
            return os.open(path, flags, 0o600)

    def link(self, old: str, new: str) -> bool:
        """Give a second name. If the server's answer is lost, the link count decides. Source: link (2), NOTES.

        A name that another client has removed just now may be stale.
        """
        path = self._folder / old
        try:
            os.link(path, self._folder / new)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ESTALE):
                raise
            return path.stat().st_nlink > 1
        return True

    def names(self) -> list[str]:
        """List the folder; a missing folder is empty."""
        try:
            with naming(self._folder):
                return os.listdir(self._folder)  # noqa: PTH208 - only names are needed
        except FileNotFoundError:
            return []

    def text(self, name: str) -> str:
        return read_end(self._folder / name, 1024)[0].decode(errors="replace")

    def stamp(self, name: str) -> Stamp | None:
        """Return the stamp of the opened file: opening it queries a file server. Do not wait for a pipe."""
        try:
            with naming(self._folder / name):
                descriptor = os.open(self._folder / name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    return _stamp(os.fstat(descriptor))
                finally:
                    os.close(descriptor)
        except FileNotFoundError:
            return None

    def touch(self, name: str, *, at: float | None = None) -> bool:
        """Set the times. Source: utimensat(2), UTIME_NOW: the server's time."""
        try:
            with naming(self._folder / name):
                os.utime(self._folder / name, None if at is None else (at, at))
        except FileNotFoundError:
            return False
        return True

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError), naming(self._folder / name):
            (self._folder / name).unlink()


def time_written(path: Path) -> int:
    """Return the modification time of a file in nanoseconds, 0 if it does not exist."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_ino, status.st_mtime)
