"""The journal of a job: JSON lines, only appended. Each line is added by one write and synced to disk."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ..files.private import appending
from ..files.reading import open_regular, read_end
from ..plural import counted
from .journal_records import VERSION, Created, Ended, Submitted, dump, parse
from .parsed import CorruptDataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .journal_records import Record

MAX_BYTES = 64 << 20
"""The most bytes of a journal that are read."""
MAX_LINES, MAX_TAIL = 20_000, 8 << 20
"""The tail of a long journal, in lines and bytes: every line of it is read.

From the part before it, only the first record and records of a few kinds are read.
"""
MAX_EARLIER = 2_000
"""The most records that are read from the part before the tail."""
MAX_FIRST = 32 << 20
"""Limit in bytes for the first record, which contains all parameters of a job file."""
_LASTING_PREFIXES = tuple(
    f'\n{{"version": {VERSION}, "kind": "{kind}", '.encode() for kind in ("cancelled", "changed", "notified")
)
"""The starts of lines whose records stay valid: no later record replaces them."""
MAX_REPORTED = 20
"""The number of invalid lines that are reported one by one."""
LOCK_TRIES, LOCK_PAUSE = 100, 0.02
"""How often an append tries to lock the journal, and the seconds between two tries."""
_LINE = re.compile(rb"[^\n]+")
SUMMARY_BYTES = 32 << 10
"""The bytes at the end of a journal that usually suffice for the state of a job; a record has about 200 bytes."""


class JournalContents(Struct, frozen=True, kw_only=True):
    """Hold the records of a journal in order, and descriptions of read errors."""

    records: tuple[Record, ...]
    read_errors: tuple[str, ...] = ()


def append(journal: Path, record: Record) -> None:
    """Append a record and sync it to disk. Raises OSError."""
    append_line(journal, dump(record))


def append_line(journal: Path, text: bytes) -> None:
    """Append a line to a journal, as `append` does.

    If a crash or a full disk left the last line incomplete, end that line first: the record then has a line of its own.
    """
    with locked(journal) as descriptor:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        line = b"\n" * torn + text
        if os.write(descriptor, line) != len(line):
            # The disk filled up in the middle of the line. A second write may raise the real error.
            os.write(descriptor, b"\n")
            raise OSError(errno.ENOSPC, "the record was written in part", str(journal))
        os.fsync(descriptor)


@contextmanager
def locked(journal: Path) -> Iterator[int]:
    """Open a file to append to it, and lock it; open it again if another process has replaced it meanwhile."""
    while True:
        with appending(journal) as descriptor:
            _lock(descriptor)
            if os.fstat(descriptor).st_nlink:
                yield descriptor
                return


def _lock(descriptor: int) -> None:
    """Lock a file until it is closed, as far as its file system has locks; give up after some seconds.

    An NFS client writes to the end of a file that it saw last, so two hosts can overwrite each other's lines. A lock
    makes it query the server. Source: Linux NFS FAQ, A8; both observed on Linux 6.1, NFS 3 and 4.2.
    """
    with suppress(OSError):
        for _ in range(LOCK_TRIES):
            if _try_lock(descriptor):
                return
            time.sleep(LOCK_PAUSE)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def read(journal: Path) -> JournalContents:
    """Return the records, and report invalid lines. Raises OSError if the journal does not exist.

    From a journal that exceeds the limits, read the first record, the last ones, and between them only the kinds that
    stay valid: changes, a cancel and notifications.
    """
    data, whole = read_end(journal, MAX_BYTES)
    start = _start_of_last(data)
    found = _records(data, start, first=1 if whole and not start else 2)
    if whole and not start:
        return found
    created = read_first(journal)
    records = (*([created] if created else ()), *_lasting_records(data, start), *found.records)
    return replace(found, records=records)


def _start_of_last(data: bytes) -> int:
    """Return the offset from which every line is read: at most MAX_LINES lines and MAX_TAIL bytes before the end."""
    start = len(data)
    if start <= MAX_LINES:
        return 0
    for _ in range(MAX_LINES):
        start = data.rfind(b"\n", 0, max(0, start))
        if start < 0:
            return max(0, len(data) - MAX_TAIL)
    return max(start, len(data) - MAX_TAIL)


def _lasting_records(data: bytes, end: int) -> list[Record]:
    """Return the last records before `end` of the kinds that stay valid, within the limits."""
    places: list[tuple[int, int]] = []
    left = MAX_TAIL
    for begins in _LASTING_PREFIXES:
        start = data.rfind(begins, 0, end)
        while start >= 0 and len(places) < MAX_EARLIER and left > 0:
            line_end = data.find(b"\n", start + 1, start + left)
            if line_end >= 0:
                places.append((start + 1, line_end))
            left -= len(begins) if line_end < 0 else line_end - start
            start = data.rfind(begins, 0, start)
    found: list[Record] = []
    for start, line_end in sorted(places):
        with suppress(CorruptDataError):
            found.append(parse(data[start:line_end]))
    return found


def read_last(journal: Path) -> JournalContents:
    """Return the records at the end if they suffice for the state of the job, else those of `read`.

    Raises OSError if the journal does not exist.
    """
    data, whole = read_end(journal, SUMMARY_BYTES)
    found = _records(data, first=1 if whole else 2)
    if whole or any(isinstance(record, (Created, Submitted, Ended)) for record in found.records):
        return found
    return read(journal)


def read_first(journal: Path) -> Created | None:
    """Return the first record of a journal, None if it is invalid. Raises OSError if the journal does not exist."""
    with os.fdopen(open_regular(journal), "rb") as file:
        line = file.readline(MAX_FIRST)
    try:
        first = parse(line)
    except CorruptDataError:
        return None
    return first if isinstance(first, Created) else None


def _records(data: bytes, start: int = 0, *, first: int) -> JournalContents:
    """Parse the lines from offset `start`. `first` is the number of the first line to parse."""
    records: list[Record] = []
    read_errors: list[str] = []
    before = data.count(b"\n", 0, start)
    number, seen, bad = 1, start, 0
    for match in _LINE.finditer(data, start):
        number += data.count(b"\n", seen, match.start())
        seen = match.start()
        line = match[0]
        if number < first or not line.strip(b"\0 \r"):
            continue
        try:
            records.append(parse(line))
        except CorruptDataError as error:
            bad += 1
            last = match.end() == len(data)
            if bad <= MAX_REPORTED:
                where = f"line {before + number}"
                read_errors.append("the last line is incomplete" if last else f"{where} cannot be read: {error}")
    if bad > MAX_REPORTED:
        read_errors.append(f"{counted(bad - MAX_REPORTED, 'more line')} cannot be read")
    return JournalContents(records=tuple(records), read_errors=tuple(read_errors))
