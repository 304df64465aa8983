"""Remove the files of a job, and measure the space that they take.

The folder gets a hidden name first, so that a killed removal leaves no visible remains. The next removal, or the
monitor, deletes folders with hidden names.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import Diagnostic, FolderError
from ..files.names import ATTEMPTS
from ..files.private import rename
from .address import keep_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .job_folder import JobFolder

MOUNTS = Path("/proc/self/mounts")
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2})")
"""An escaped blank in that file. Source: fstab(5)."""
HIDDEN = ".gone-"
BULKY = ("work", "code")
"""Folders of an attempt that are removed when records and logs stay."""


def check_removable(folder: JobFolder) -> None:
    """Raise FolderError if a job's folder contains a mount or a file of another user."""
    status = folder.path.stat(follow_symlinks=False)
    mounted = next(_mounted_below(os.path.realpath(folder.path)), None)
    if mounted is not None:
        raise _not_removable(mounted, "is a mount point")
    for path, found in _walk(str(folder.path), status):
        if found.st_uid != status.st_uid:
            raise _not_removable(path, "belongs to another user")
        if found.st_dev != status.st_dev:
            raise _not_removable(path, "is on another file system: it is a mount point")


def _not_removable(path: str, what: str) -> FolderError:
    hint = "remove or unmount it first; nothing of the job was removed"
    return FolderError(Diagnostic(code="E592", message=f"{path} {what}", hint=hint))


def _mounted_below(folder: str) -> Iterator[str]:
    """Yield the mount points below a folder: a bind mount from the same file system has no other device number."""
    with suppress(OSError):
        for line in MOUNTS.read_bytes().splitlines():
            point = os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 8)]), line.split(b" ")[1]))
            if point.startswith(f"{folder}/"):
                yield point


def _walk(top: str, status: os.stat_result) -> Iterator[tuple[str, os.stat_result]]:
    """Yield all entries below a folder, without following symbolic links."""
    left = [(top, status)]
    while left:
        folder, own = left.pop()
        if own.st_mode & stat.S_IRWXU != stat.S_IRWXU and own.st_uid == os.geteuid():
            # A task's tool may have made its folders read-only.
            os.chmod(folder, stat.S_IMODE(own.st_mode) | stat.S_IRWXU)  # noqa: PTH101 - thousands of calls
        with os.scandir(folder) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                yield entry.path, found
                if entry.is_dir(follow_symlinks=False):
                    left.append((entry.path, found))


def hide(folder: JobFolder) -> list[Path] | None:
    """Rename a job's folder to a hidden name and return that, None if another process has removed it.

    Raises OSError if it cannot be renamed.
    """
    hidden = _hidden(folder)
    # Without room for the number, the job can still be removed.
    with suppress(OSError):
        keep_number(folder.path)
    with suppress(FileNotFoundError):
        rename(folder.path, hidden)
        return [hidden]
    return None


def hide_bulk(folder: JobFolder) -> list[Path]:
    """Rename the working directories and the code of a job's attempts to hidden names, and return these."""
    found = []
    for path in bulk(folder):
        found.append(_hidden(folder))
        rename(path, found[-1])
    return found


def bulk(folder: JobFolder) -> list[Path]:
    """Return the working directories and the code of a job's attempts, without symbolic links."""
    attempts = folder.path / ATTEMPTS
    if attempts.is_symlink() or not attempts.is_dir():
        return []
    own = [attempt for attempt in sorted(attempts.iterdir()) if not attempt.is_symlink()]
    found = [attempt / name for attempt in own for name in BULKY]
    return [path for path in found if path.is_dir() and not path.is_symlink()]


def _hidden(folder: JobFolder) -> Path:
    return folder.path.with_name(f"{HIDDEN}{folder.name}-{os.urandom(4).hex()}")


def delete(hidden: Path) -> bool:
    """Delete a hidden folder. Return whether all of it is gone."""
    from shutil import rmtree

    rmtree(hidden, ignore_errors=True)
    return not hidden.exists()


def finish_removals(jobs: Path) -> None:
    """Delete the remains of killed removals."""
    with suppress(OSError):
        for hidden in jobs.glob(f"{HIDDEN}*"):
            with suppress(OSError, FolderError):
                if hidden.stat(follow_symlinks=False).st_uid == os.geteuid():
                    delete(hidden)


BLOCK = 512
"""Bytes per block in `st_blocks`. Source: stat(2)."""


class RoomTaken(NamedTuple):
    """Hold the bytes and inodes used on disk."""

    size: int
    inodes: int


def room_taken(*folders: str) -> RoomTaken:
    """Return the space used by folders with all their content. Entries that cannot be read count as 0."""
    size = inodes = 0
    left = list(folders)
    for folder in folders:
        with suppress(OSError):
            size += os.stat(folder, follow_symlinks=False).st_blocks * BLOCK  # noqa: PTH116 - thousands
            inodes += 1
    while left:
        with suppress(OSError), os.scandir(left.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_blocks * BLOCK
                    inodes += 1
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
    return RoomTaken(size, inodes)
