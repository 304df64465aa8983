"""How much room jobs take, job by job."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from ....folded_names import by_numbers
from ....state.tidying.removal import RoomTaken, bulk, room_taken

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ....state.job_folder import JobFolder

UNITS = ("KiB", "MiB", "GiB", "TiB")
_NEXT, _SHORT = 1024, 10


class JobSize(NamedTuple):
    """Name a job, and say what its folder takes."""

    name: str
    room: RoomTaken

    def as_dict(self) -> dict[str, object]:
        """Return the record for `--json`."""
        return {"name": self.name, **room_dict(self.room)}


def sizes(folders: Iterable[JobFolder]) -> list[JobSize]:
    """Return what jobs take, the largest first."""
    found = [JobSize(folder.name, room_taken(str(folder.path))) for folder in folders]
    return sorted(found, key=lambda job: (-job.room.size, -job.room.inodes, by_numbers(job.name)))


def bulk_of(folder: JobFolder) -> JobSize:
    """Return what goes of a job where its records and logs stay."""
    return JobSize(folder.name, _together(room_taken(str(path)) for path in bulk(folder)))


def total(jobs: Iterable[JobSize]) -> RoomTaken:
    """Return what jobs take together."""
    return _together(job.room for job in jobs)


def _together(rooms: Iterable[RoomTaken]) -> RoomTaken:
    return reduce(RoomTaken.plus, rooms, RoomTaken())


def room_dict(room: RoomTaken) -> dict[str, object]:
    """Return bytes and inodes for `--json`."""
    return {"size_bytes": room.size, "inodes": room.inodes}


def size_text(size: int) -> str:
    """Return bytes for people: `40 KiB`, `1.2 GiB`."""
    amount = size / _NEXT
    for unit in UNITS:
        if amount < _NEXT or unit == UNITS[-1]:
            break
        amount /= _NEXT
    return f"{amount:.1f} {unit}" if 0 < amount < _SHORT else f"{amount:.0f} {unit}"
