"""Files that only the user can access: made so whatever the umask and ACL, and asked before they are trusted."""

from __future__ import annotations

import os
import pwd
import stat
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


def make_private(folder: Path, mode: int = 0o700) -> None:
    """Make a folder with its missing parents, each with this mode, whatever the umask permits; keep an existing one."""
    if folder.is_dir():
        return
    make_private(folder.parent, mode)
    try:
        new_private(folder, mode)
    except FileExistsError:
        # Another process may have made it.
        if not folder.is_dir():
            raise


def new_private(folder: Path, mode: int = 0o700) -> None:
    """Make a new folder. Raises FileExistsError.

    It loses the default ACL of the folder above, with which umasks would not apply to files below. Source: acl(5).
    """
    folder.mkdir(mode=mode)
    if hasattr(os, "removexattr"):
        with suppress(OSError):
            os.removexattr(folder, "system.posix_acl_default")


def write_durably(path: Path, data: bytes, mode: int = 0o600, *, at: float | None = None) -> None:
    """Write a file atomically, with the time `at`, and sync it to disk. A link of that name is replaced."""
    new = path.with_name(f".{path.name}.new-{os.urandom(4).hex()}")
    try:
        write_new(new, data, mode)
        if at is not None:
            os.utime(new, (at, at))
        new.replace(path)
        sync_folder(path.parent)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def write_new(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a new file and sync it to disk; it has its mode once it has its content."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if mode != 0o600:
            os.fchmod(descriptor, mode)
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk, if the file system supports it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def open_private(path: Path, mode: str) -> IO[bytes]:
    """Open a file to write bytes; only the user can access a new one."""
    return open(path, mode, opener=lambda name, flags: os.open(name, flags | os.O_CLOEXEC, 0o600))


@contextmanager
def appending(path: Path) -> Iterator[int]:
    """Open a file to append to it, and to read it; only the user can access a new one. Yield its descriptor."""
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def append(path: Path, data: bytes) -> int:
    """Append lines by one write. Return the size of the file."""
    with appending(path) as descriptor:
        os.write(descriptor, data)
        return os.fstat(descriptor).st_size


def touch(path: Path) -> None:
    """Set a file's time; make it if it does not exist."""
    path.touch(mode=0o600)


def set_time(path: Path) -> None:
    """Set the time of an existing file or folder to now."""
    os.utime(path)


def rename(path: Path, new: Path) -> None:
    """Rename a file; it replaces another one."""
    path.replace(new)


def remove(path: Path) -> None:
    """Remove a file or a link if it exists."""
    path.unlink(missing_ok=True)


def remove_tree(folder: Path) -> None:
    """Remove a folder as far as possible."""
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)


OTHERS_WRITE = 0o022
MAX_LINKS = 40
"""The most links in a path. Source: path_resolution(7)."""
TRUSTED = 0
"""Trusted owners; root can do everything anyway."""


def owner_name(uid: int) -> str:
    """Return the name of a user, or `user UID`."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return f"user {uid}"


def replaceable(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Yield why others could replace a path, for each unsafe folder or link on it.

    The second text is the folder for `chmod go-w`, "" if that is not the caller's to mend.
    """
    for path, status in _way(paths):
        if status.st_uid not in (os.geteuid(), TRUSTED):
            yield f"{path} belongs to {owner_name(status.st_uid)}", ""
        elif stat.S_ISDIR(status.st_mode) and status.st_mode & OTHERS_WRITE and not status.st_mode & stat.S_ISVTX:
            mend = path if status.st_uid == os.geteuid() else ""
            yield f"others can write to {path} (mode {stat.S_IMODE(status.st_mode):04o})", mend


def writable_by_others(file: Path) -> str:
    """Return why another user can change a file; "" if only the caller and root can."""
    status = file.stat()
    if status.st_uid not in (os.geteuid(), TRUSTED):
        return f"it belongs to {owner_name(status.st_uid)}"
    if status.st_mode & OTHERS_WRITE:
        return f"others can write to it (mode {stat.S_IMODE(status.st_mode):04o})"
    return next((why for why, _ in replaceable((file,))), "")


def _way(paths: Iterable[Path]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the existing folders and links on some paths."""
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


def is_private(paths: Iterable[Path]) -> bool:
    """Return whether the caller owns all paths and nobody else can write to them."""
    try:
        found = [path.stat() for path in paths]
    except OSError:
        return False
    return all(status.st_uid == os.geteuid() and not status.st_mode & OTHERS_WRITE for status in found)
