"""Free space of the home for a job: bytes and inodes of its file system and of the user's quota."""

from __future__ import annotations

import os
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
"""Files of an attempt. Source: this project's docs, run folder."""
_ATTEMPT_BYTES = 1 << 20
"""Bytes of an attempt beside its script, without the output of tasks: records, results and empty logs."""
_BLOCK = 1024
_COLUMNS = 9
"""Fields of `quota --raw-grace`: filesystem, blocks, quota, limit, grace, files, quota, limit, grace."""


class Room(Struct, frozen=True, kw_only=True):
    """The free space of a file system or a quota, named by `whose`; None for no limit or an unknown one."""

    whose: str
    free_bytes: int | None = None
    free_inodes: int | None = None


def check_room(home: Path, compiled: Compiled, runner: CommandRunner) -> None:
    """Raise FolderError, with numbers, if the home has no space for a job's first attempt."""
    inodes = _inodes(compiled)
    size = len(compiled.script.encode(errors="surrogateescape")) + _ATTEMPT_BYTES
    place = _existing(home)
    found = []
    for room in rooms(place, runner):
        if room.free_bytes is not None and room.free_bytes < size:
            message = f"the job needs {_mib(size)} in {home}, but {room.whose} has only {_mib(room.free_bytes)} left"
            found.append(Diagnostic(code="E545", message=message, hint=_HINT))
        if room.free_inodes is not None and room.free_inodes < inodes:
            message = f"the job needs about {inodes} files and folders in {home}, but {room.whose} allows only "
            found.append(Diagnostic(code="E546", message=f"{message}{room.free_inodes}", hint=_HINT))
    if found:
        raise FolderError(found)


def no_room_text(folder: Path, runner: CommandRunner) -> str:
    """Return a message if a folder has almost no free space, else ""."""
    for room in rooms(_existing(folder), runner):
        if room.free_bytes is not None and room.free_bytes < _ATTEMPT_BYTES:
            return f"no space in {folder}: {room.whose} has only {_mib(room.free_bytes)} left"
        if room.free_inodes == 0:
            return f"no space in {folder}: {room.whose} allows no more files or folders"
    return ""


_HINT = (
    "remove old jobs there (`paislurm list --columns name,size`, `paislurm remove`), or set PAISLURM_HOME to a folder "
    "with more space that all nodes share"
)


def rooms(place: Path, runner: CommandRunner) -> Iterator[Room]:
    """Yield the free space of a folder's file system, and of the user's quota if a program reports it."""
    try:
        status = os.statvfs(place)
    except OSError:
        return
    # A file system that does not count reports a total of 0.
    size = status.f_bavail * status.f_frsize if status.f_blocks else None
    inodes = status.f_favail if status.f_files else None
    yield Room(whose="its file system", free_bytes=size, free_inodes=inodes)
    try:
        # It exits with 1 if a quota is exceeded; that output is needed, too.
        done = runner.run(["quota", "--no-wrap", "--raw-grace"], timeout=QUOTA_SECONDS)
    except BackendError:
        return
    found = quota_left(done.stdout, _device_of(place))
    if found is not None:
        yield found


def quota_left(text: str, device: str) -> Room | None:
    """Return the free quota of a device from the output of quota, None without a line for it. Source: quota(1)."""
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
    """Return the rest up to the hard limit, else up to the soft one; a limit of 0 means none."""
    if not (used.isdecimal() and soft.isdecimal() and hard.isdecimal()):
        return None
    limit = int(hard) or int(soft)
    return max(0, limit - int(used)) if limit else None


def _device_of(place: Path) -> str:
    """Return the mounted device of a folder, as quota names it."""
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    real = Path(os.path.realpath(place))
    points = [line.split()[:2] for line in lines]
    above = [(len(point), device) for device, point in points if real.is_relative_to(point)]
    return max(above, default=(0, ""))[1]


def _existing(home: Path) -> Path:
    """Return the folder, or its nearest existing parent."""
    return next((path for path in (home, *home.parents) if path.exists()), home)


def _inodes(compiled: Compiled) -> int:
    job = compiled.job
    return _INODES_OF_TASK * job.task_count + _INODES_OF_ROLE * len(job.roles) + _INODES_OF_JOB


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB"
