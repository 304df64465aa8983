"""Whether the home has room for a job: its file system, and the user's quota there, in bytes and in inodes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ..errors import BackendError, Diagnostic, FolderError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paislurm.backends.runner import CommandRunner

    from ..pipeline import Compiled

QUOTA_SECONDS = 5.0
_MOUNTS = Path("/proc/self/mounts")
_INODES_OF_TASK, _INODES_OF_ROLE, _INODES_OF_JOB = 3, 4, 25
"""What an attempt leaves. Source: this project's docs, run folder."""
_ATTEMPT_BYTES = 1 << 20
"""Records, results and empty logs of an attempt beside its script; what tasks print comes on top."""
_BLOCK = 1024
_COLUMNS = 9
"""Of a line of `quota --raw-grace`: filesystem, blocks, quota, limit, grace, files, quota, limit, grace."""


class Room(Struct, frozen=True, kw_only=True):
    """Say how much is left; None is no bound, or one that nobody tells. `whose` is in words."""

    whose: str
    free_bytes: int | None = None
    free_inodes: int | None = None


def check_room(home: Path, compiled: Compiled, runner: CommandRunner) -> None:
    """Raise FolderError with numbers where the home has no room for a job's first attempt."""
    inodes = _inodes(compiled)
    size = len(compiled.script.encode(errors="surrogateescape")) + _ATTEMPT_BYTES
    place = _existing(home)
    found = []
    for room in rooms(place, runner):
        if room.free_bytes is not None and room.free_bytes < size:
            message = f"the job needs {_mib(size)} in {home}, and {room.whose} leaves {_mib(room.free_bytes)}"
            found.append(Diagnostic(code="E545", message=message, hint=_HINT))
        if room.free_inodes is not None and room.free_inodes < inodes:
            message = f"the job makes about {inodes} files and folders in {home}, and {room.whose} leaves "
            found.append(Diagnostic(code="E546", message=f"{message}{room.free_inodes}", hint=_HINT))
    if found:
        raise FolderError(found)


def no_room_text(folder: Path, runner: CommandRunner) -> str:
    """Say that a folder takes nothing more, or hardly anything; "" where it does."""
    for room in rooms(_existing(folder), runner):
        if room.free_bytes is not None and room.free_bytes < _ATTEMPT_BYTES:
            return f"there is no room in {folder}: {room.whose} leaves {_mib(room.free_bytes)}"
        if room.free_inodes == 0:
            return f"there is no room in {folder}: {room.whose} leaves no file or folder"
    return ""


_HINT = (
    "remove old jobs there (`paislurm du`, `paislurm remove`), or set PAISLURM_HOME to a folder with more room that "
    "all nodes share"
)


def rooms(place: Path, runner: CommandRunner) -> Iterator[Room]:
    """Yield how much the file system of a folder has left, and the user's quota there where a program tells it."""
    try:
        status = os.statvfs(place)
    except OSError:
        return
    # A file system that does not count says that it has none at all.
    size = status.f_bavail * status.f_frsize if status.f_blocks else None
    inodes = status.f_favail if status.f_files else None
    yield Room(whose="its file system", free_bytes=size, free_inodes=inodes)
    if shutil.which("quota"):
        try:
            # It exits with 1 where a quota is used up, which is what is to be found out.
            done = runner.run(["quota", "--no-wrap", "--raw-grace"], timeout=QUOTA_SECONDS)
        except BackendError:
            return
        found = quota_left(done.stdout, _device_of(place))
        if found is not None:
            yield found


def quota_left(text: str, device: str) -> Room | None:
    """Return what the program leaves on a file system, None where it has no line for that. Source: quota(1)."""
    for line in text.splitlines():
        words = line.split()
        if len(words) == _COLUMNS and words[0] == device:
            blocks, soft, hard, _, files, soft_files, hard_files, _ = (word.rstrip("*") for word in words[1:])
            left = _left(blocks, soft, hard)
            return Room(
                whose="your quota",
                free_bytes=None if left is None else left * _BLOCK,
                free_inodes=_left(files, soft_files, hard_files),
            )
    return None


def _left(used: str, soft: str, hard: str) -> int | None:
    """Return what is left up to the hard limit, else the soft one; 0 is no limit."""
    if not (used.isdecimal() and soft.isdecimal() and hard.isdecimal()):
        return None
    limit = int(hard) or int(soft)
    return max(0, limit - int(used)) if limit else None


def _device_of(place: Path) -> str:
    """Return what is mounted where a folder is, as quota names it."""
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    real = Path(os.path.realpath(place))
    points = [line.split()[:2] for line in lines]
    above = [(len(point), device) for device, point in points if real.is_relative_to(point)]
    return max(above, default=(0, ""))[1]


def _existing(home: Path) -> Path:
    """Return the folder, or the nearest one above it that there is."""
    return next((path for path in (home, *home.parents) if path.exists()), home)


def _inodes(compiled: Compiled) -> int:
    job = compiled.job
    return _INODES_OF_TASK * job.task_count + _INODES_OF_ROLE * len(job.roles) + _INODES_OF_JOB


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB"
