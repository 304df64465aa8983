"""Cache of the outcomes of finished jobs, in one file: a list of a thousand jobs reads it instead of their journals.

An entry is valid only while the journal is the same file, with the same size and change time. A missing or damaged
file, or one of another version, counts as empty.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct, to_builtins

from ..errors import FolderError
from ..files.private import make_private, write_durably
from ..files.reading import read_end
from .history import History
from .parsed import CorruptDataError, read_version

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


FILE = "ended.json"
VERSION = 4
MAX_BYTES = 64 << 20
WORTH_WRITING = 16
"""Rewrite the file after reading this many journals."""
FIELDS = (
    *("job", "user", "backend", "job_id", "attempt", "tasks", "created", "submitted", "ended"),
    *("virtual_cluster", "partition", "group"),
)
"""The fields of an ended job's history that lists show."""


Stamp = tuple[int, int, int]
"""The inode, size and change time (in ns) of a journal."""


class _Kept(Struct):
    """The file: by folder name, the stamp of the journal and the outcome of the job."""

    version: int
    jobs: dict[str, tuple[Stamp, History]]


def stamp_of(journal: str) -> Stamp | None:
    """Return the stamp of a journal, None if it does not exist. Call this before reading the journal."""
    try:
        status = os.stat(journal)  # noqa: PTH116 - a thousand calls; pathlib doubles their time
    except OSError:
        return None
    return _stamp(status)


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_ino, status.st_size, status.st_ctime_ns


def _is_unchanged(journal: str, stamp: Stamp) -> bool:
    """Return whether a journal still has its stamp.

    Open the file: a client of a file server may answer `stat` from its cache, but opening queries the server.
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
    """The cache in the user's private folder; `folder` is called on first use."""

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder
        self._kept: dict[str, tuple[Stamp, History]] | None = None
        self._new: dict[str, tuple[Stamp, History]] = {}

    def get(self, name: str, stamp: Stamp | None, journal: str) -> History | None:
        """Return the outcome of the job in the named folder, None if it is not cached for this journal."""
        if self._kept is None:
            self._kept = self._read()
        kept = self._kept.get(name)
        if kept is None or kept[0] != stamp or kept[1].ended is None or not _is_unchanged(journal, kept[0]):
            return None
        return kept[1]

    def add(self, name: str, stamp: Stamp | None, known: History) -> None:
        """Add an ended job; `known` may come from the end of the journal alone."""
        if stamp is not None and known.ended is not None:
            self._new[name] = (stamp, History(**{field: getattr(known, field) for field in FIELDS}))

    def keep(self, names: set[str]) -> None:
        """Write the cache for the named folders if enough entries are new. Ignore errors."""
        if len(self._new) < WORTH_WRITING or self._kept is None:
            return
        self._kept = {name: row for name, row in {**self._kept, **self._new}.items() if name in names}
        self._new = {}
        data = json.dumps(to_builtins(_Kept(VERSION, self._kept))).encode()
        with suppress(OSError, FolderError):
            folder = self._folder()
            make_private(folder)
            write_durably(folder / FILE, data)

    def _read(self) -> dict[str, tuple[Stamp, History]]:
        try:
            data, whole = read_end(self._folder() / FILE, MAX_BYTES)
            return read_version(data, _Kept, VERSION).jobs if whole else {}
        except (OSError, CorruptDataError, FolderError):
            return {}
