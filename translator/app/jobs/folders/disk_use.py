"""Disk usage of jobs: bytes, files and folders."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from msgspec import Struct

from ....state.tidying.removal import RoomTaken, bulk, room_taken

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ....state.job_folder import JobFolder

UNITS = ("KiB", "MiB", "GiB", "TiB")
_NEXT, _SHORT = 1024, 10


class Room(Struct, frozen=True, kw_only=True):
    """The disk usage of files."""

    size_bytes: int
    """Their size in bytes."""
    inodes: int
    """The number of files and folders."""


class JobRoom(Room, frozen=True, kw_only=True):
    """The disk usage of a job."""

    name: str
    """The name of the job's folder, `user~job`."""


def room_of(folder: JobFolder, *, keep_logs: bool = False) -> JobRoom:
    """Return the disk usage of a job; with `keep_logs`, without its records and logs."""
    paths = bulk(folder) if keep_logs else [folder.path]
    room = reduce(RoomTaken.plus, (room_taken(str(path)) for path in paths), RoomTaken())
    return JobRoom(name=folder.name, size_bytes=room.size, inodes=room.inodes)


def total(jobs: Iterable[Room]) -> Room:
    """Return the total of jobs."""
    rooms = list(jobs)
    return Room(size_bytes=sum(room.size_bytes for room in rooms), inodes=sum(room.inodes for room in rooms))


def size_text(size: int) -> str:
    """Return bytes in a readable unit: `40 KiB`, `1.2 GiB`."""
    amount = size / _NEXT
    for unit in UNITS:
        if amount < _NEXT or unit == UNITS[-1]:
            break
        amount /= _NEXT
    return f"{amount:.1f} {unit}" if 0 < amount < _SHORT else f"{amount:.0f} {unit}"
