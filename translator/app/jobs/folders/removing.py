"""Remove jobs: which of them are meant, whether they may go, and what of them goes."""

from __future__ import annotations

from contextlib import suppress
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from paislurm.backends.registry import is_elsewhere

from ....errors import Diagnostic, FolderError, NotFoundError
from ....folded_names import by_numbers
from ....monitor.poll import open_job
from ....state.tidying.removal import BULKY, RoomTaken, bulk, check_removable, delete, hide, hide_bulk, room_taken
from ...ownership import check_own
from ..refresh import is_own, refresh_all
from ..selecting import select

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ....monitor.poll import Opened, View
    from ....state.job_folder import JobFolder
    from ...session import Session


def ended_at(job: Opened | View) -> int | None:
    """Return when a job ended, by its journal; None where the journal has no end."""
    end = job.history.ended
    return None if end is None else end.ended_at or end.happened_at


def named(session: Session, words: Sequence[str]) -> list[Opened]:
    """Return the jobs that words mean, each of which has ended.

    Raises NotFoundError for words that mean none, and FolderError where one is another user's or has not ended; nothing
    is removed then.
    """
    jobs = [_opened(folder) for folder in select(session.store, words, user=session.user)]
    for job in jobs:
        check_own(job.folder, "remove")
    living = [view for view in refresh_all(session, jobs) if not view.job_status.ended]
    if living:
        several = len(jobs) > len(living)
        raise FolderError([_has_not_ended(view, several=several) for view in living])
    return [open_job(job.folder) for job in jobs]


def matching(session: Session, words: Sequence[str], older_than: int | None, states: Collection[str]) -> list[Opened]:
    """Return the user's own jobs that ended so long ago and so; only those that words mean, if there are any."""
    folders = select(session.store, words, user=session.user) if words else session.store.all()
    found = []
    for folder in folders:
        # What cannot be read may not have ended.
        with suppress(OSError):
            job = open_job(folder)
            end = ended_at(job)
            old = end is not None and (older_than is None or session.now() - end >= older_than)
            if (
                old
                and is_own(session, job)
                and (not states or (job.history.ended and job.history.ended.state in states))
            ):
                found.append(job)
    return found if words else sorted(found, key=lambda job: by_numbers(job.folder.name))


def remove_job(session: Session, job: Opened, *, keep_logs: bool = False) -> str:
    """Remove a job that has ended, or with `keep_logs` its working directories; return what is left, in words.

    Raises FolderError where it cannot be; OSError where its folder cannot be renamed.
    """
    check_removable(job.folder)
    left = _remove_elsewhere(session, job, keep_logs=keep_logs) if is_elsewhere(job.history.backend) else ""
    if keep_logs:
        hidden = hide_bulk(job.folder)
    else:
        gone = hide(job.folder, job.history)
        if gone is None:
            message = f"{job.folder.name} is being replaced or removed by another process"
            raise FolderError(Diagnostic(code="E593", message=message, hint="look again: `paislurm list --all`"))
        hidden = [gone]
    behind = " ".join(str(path) for path in hidden if not delete(path))
    return "; ".join(filter(None, [left, behind and f"{behind} could not be deleted yet"]))


def _remove_elsewhere(session: Session, job: Opened, *, keep_logs: bool) -> str:
    """Remove the folder of a job at its login node; return in words that this could not be done, if so."""
    from paislurm.backends.ssh.backend import SshBackend

    known = job.history
    there = session.backend(known.backend)
    assert isinstance(there, SshBackend)
    attempts = range(known.attempt + 1)
    below = [f"/attempts/{attempt}/{name}" for attempt in attempts for name in BULKY] if keep_logs else [""]
    if there.remove_folder(known.run_folder(job.folder.path), below):
        return ""
    return f"its folder at {known.backend_label} could not be removed yet: it is, as soon as that answers again"


def _opened(folder: JobFolder) -> Opened:
    try:
        job = open_job(folder)
    except OSError as error:
        message = f"the journal of {folder.path} cannot be read: {error.strerror or error}"
        hint = "whether the job has ended is not known: if it has, remove the folder by hand"
        raise NotFoundError(Diagnostic(code="E594", message=message, hint=hint)) from None
    return job


def _has_not_ended(view: View, *, several: bool) -> Diagnostic:
    name = view.history.job or view.folder.name
    message = f"{view.folder.name} has not ended: {view.job_status.state}"
    ended = ", and `--older-than 1s` removes those that have ended" if several else ""
    hint = f"`paislurm cancel {name}` ends it; nothing was removed{ended}"
    return Diagnostic(code="E591", message=message, hint=hint)


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
