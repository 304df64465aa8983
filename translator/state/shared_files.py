"""The few operations on files that work on every shared file system, and tell the server's time."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from pathlib import Path


class Stamp(Struct, frozen=True):
    """Hold what tells a file from another of its name, and when it was last touched, by the server's clock."""

    inode: int
    time: float


class Files(Protocol):
    """The operations on files that a lock is made of. Each raises OSError."""

    def create(self, name: str, text: str) -> Stamp:
        """Write a new file."""
        ...

    def link(self, old: str, new: str) -> bool:
        """Give a file a second name; False if another file has it."""
        ...

    def names(self) -> list[str]:
        """Return the names in the folder."""
        ...

    def stamp(self, name: str) -> Stamp | None:
        """Return a file's stamp, None if there is none of the name."""
        ...

    def touch(self, name: str, *, at: float | None = None) -> bool:
        """Give a file the server's time, or another; False if there is none of the name."""
        ...

    def remove(self, name: str) -> None:
        """Remove a name, if it is there."""
        ...


class SharedFiles:
    """The operations, in a folder of a file system."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def create(self, name: str, text: str) -> Stamp:
        """Write a new file, and make its folder if need be."""
        make_private(self._folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(self._folder / name, flags, 0o600)
        try:
            # It is for people that look, and a disk that is full is no reason to have no monitor.
            with suppress(OSError):
                os.write(descriptor, text.encode())
            os.fsync(descriptor)
            return _stamp(os.fstat(descriptor))
        finally:
            os.close(descriptor)

    def now(self) -> float:
        """Return the server's time, which is that of a file made for it, in seconds since 1970."""
        make_private(self._folder)
        path = self._folder / f".now-{os.urandom(8).hex()}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            return os.fstat(descriptor).st_mtime
        finally:
            os.close(descriptor)
            path.unlink(missing_ok=True)

    def link(self, old: str, new: str) -> bool:
        """Give a second name; where the answer is lost, the number of names tells. Source: link (2), NOTES."""
        path = self._folder / old
        with suppress(FileExistsError):
            os.link(path, self._folder / new)
            return True
        return path.stat().st_nlink > 1

    def names(self) -> list[str]:
        """List the folder; one that is not there is empty."""
        try:
            return os.listdir(self._folder)  # noqa: PTH208 - names are what is wanted
        except FileNotFoundError:
            return []

    def stamp(self, name: str) -> Stamp | None:
        """Open the file, which makes a network file system ask its server, and look at it; a pipe is not waited for."""
        try:
            descriptor = os.open(self._folder / name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            return _stamp(os.fstat(descriptor))
        finally:
            os.close(descriptor)

    def touch(self, name: str, *, at: float | None = None) -> bool:
        """Set the times. Source: utimensat(2), UTIME_NOW: the server's time."""
        try:
            os.utime(self._folder / name, None if at is None else (at, at))
        except FileNotFoundError:
            return False
        return True

    def remove(self, name: str) -> None:
        """Unlink."""
        (self._folder / name).unlink(missing_ok=True)


def make_private(folder: Path) -> None:
    """Make a folder that nobody else can enter, whatever the umask, and those above it that are missing."""
    if not folder.parent.exists():
        make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def time_written(path: Path) -> int:
    """Return when a file was last written, in nanoseconds; 0 for one that is not there."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_ino, status.st_mtime)
