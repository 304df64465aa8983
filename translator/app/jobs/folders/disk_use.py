"""Disk usage of jobs: bytes, files and folders."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from msgspec import Struct

from ....folded_names import by_numbers
from ....state.tidying.removal import RoomTaken, bulk, room_taken
from ...input.sites import find_site
from ..selecting import select

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ....state.job_folder import JobFolder
    from ...session import Session

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


class DiskUse(Struct, frozen=True, kw_only=True):
    """The disk usage of jobs."""

    jobs: tuple[JobRoom, ...]
    """The jobs, the largest first."""
    total: Room
    """The total of all these jobs."""
    remove_after: int | None
    """The age in seconds at which the site removes jobs; None if it does not."""


def disk_use(session: Session, words: Sequence[str] = ()) -> DiskUse:
    """Return the disk usage of jobs, the largest first. Default: all of the user's, with those of a name used again."""
    own = f"{session.user}~"
    folders = (
        select(session.store, words, user=session.user)
        if words
        else [folder for folder in session.store.all() if folder.name.startswith(own)]
    )
    found = sorted(map(room_of, folders), key=lambda job: (-job.size_bytes, -job.inodes, by_numbers(job.name)))
    return DiskUse(jobs=tuple(found), total=total(found), remove_after=find_site(session, None).jobs.remove_after)


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
