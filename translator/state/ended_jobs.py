"""What jobs that have ended came to, kept in one file: a list of a thousand reads it instead of their journals.

The journal of each is still looked at: what is kept of it counts only while the journal is the same file, as long as it
was, and not changed since. Where the file is missing, damaged or of another version, nothing is known.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct, to_builtins

from ..errors import FolderError
from .safe_read import CorruptDataError, Int, read_end, read_version
from .shared_files import make_private

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .history import History

FILE = "ended.json"
VERSION = 3
MAX_BYTES = 64 << 20
WORTH_WRITING = 16
"""So many journals that had to be read are worth a new file."""


class EndedJob(Struct, frozen=True, array_like=True):
    """Say of a job that has ended what lists show of it; as in `History` and `Ended`."""

    job: str
    user: str
    backend: str
    job_id: str
    attempt: Int
    task_count: Int
    created: Int
    submitted: Int | None
    state: str
    exit_code: Int | None
    reason: str
    completed: Int
    started_at: Int | None
    ended_at: Int | None
    virtual_cluster: str
    partition: str
    node_list: str
    group: str = ""

    @property
    def full_name(self) -> str:
        """The name that OpenPAI gave the job, `user~name`."""
        return f"{self.user}~{self.job}"


Stamp = tuple[int, int, int]
"""The inode, the size and the time of the last change, in ns, of a journal."""


class _Kept(Struct):
    """The file: by the name of its folder, by what the journal of a job is known, and what it came to."""

    version: int
    jobs: dict[str, tuple[Stamp, EndedJob]]


def stamp_of(journal: str) -> Stamp | None:
    """Return by what a journal is known, None where there is none. To be taken before the journal is read."""
    try:
        status = os.stat(journal)  # noqa: PTH116 - a thousand times, where pathlib would take as long again
    except OSError:
        return None
    return _stamp(status)


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_ino, status.st_size, status.st_ctime_ns


def _is_still(journal: str, stamp: Stamp) -> bool:
    """Tell whether a journal that was a file of ours is still as its stamp says.

    It is opened for that: a client of a file server may answer `stat` by itself, but asks the server to open a file.
    """
    try:
        descriptor = os.open(journal, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return _stamp(os.fstat(descriptor)) == stamp
    finally:
        os.close(descriptor)


class EndedJobs:
    """The file in a folder of the user's alone; `folder` is called when something is wanted of it."""

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder
        self._kept: dict[str, tuple[Stamp, EndedJob]] | None = None
        self._new: dict[str, tuple[Stamp, EndedJob]] = {}

    def get(self, name: str, stamp: Stamp | None, journal: str) -> EndedJob | None:
        """Return what the job in a folder of that name came to, None where that is not known of this journal."""
        if self._kept is None:
            self._kept = self._read()
        kept = self._kept.get(name)
        if kept is None or kept[0] != stamp or not _is_still(journal, kept[0]):
            return None
        return kept[1]

    def add(self, name: str, stamp: Stamp | None, known: History) -> None:
        """Take in a job that has ended, of which the whole history or the end of it is known."""
        if stamp is not None and known.ended is not None:
            self._new[name] = (stamp, summary(known))

    def keep(self, names: set[str]) -> None:
        """Write a new file for the folders of these names, if that is worth it. Where it cannot be, none is."""
        if len(self._new) < WORTH_WRITING or self._kept is None:
            return
        self._kept = {name: row for name, row in {**self._kept, **self._new}.items() if name in names}
        self._new = {}
        data = json.dumps(to_builtins(_Kept(VERSION, self._kept)))
        with suppress(OSError, FolderError):
            folder = self._folder()
            make_private(folder)
            part = folder / f".{FILE}.{os.getpid()}"
            try:
                descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
                with os.fdopen(descriptor, "w", encoding="ascii") as file:
                    file.write(data)
                part.replace(folder / FILE)
            finally:
                part.unlink(missing_ok=True)

    def _read(self) -> dict[str, tuple[Stamp, EndedJob]]:
        try:
            data, whole = read_end(self._folder() / FILE, MAX_BYTES)
            return read_version(data, _Kept, VERSION).jobs if whole else {}
        except (OSError, CorruptDataError, FolderError):
            return {}


def summary(known: History) -> EndedJob:
    """Return what lists show of a job that has ended."""
    end = known.ended
    assert end is not None
    return EndedJob(
        job=known.job, user=known.user, backend=known.backend, job_id=known.job_id, attempt=known.attempt,
        task_count=known.tasks, created=known.created, submitted=known.submitted, state=end.state,
        exit_code=end.exit_code, reason=end.reason, completed=end.completed, started_at=end.started_at,
        ended_at=end.ended_at, virtual_cluster=known.virtual_cluster, partition=known.partition,
        node_list=end.node_list, group=known.group,
    )  # fmt: skip
