"""The journal of a job: JSON lines, only ever appended, each by one write that is on the disk at once."""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ..plural import counted
from .records import VERSION, Created, Ended, Submitted, dump, parse
from .safe_read import CorruptDataError, open_regular, read_end
from .submit_environment import forget_environment

if TYPE_CHECKING:
    from pathlib import Path

    from .records import Record

SECRETS = "secrets"
"""The folder of a job's secrets, beside its journal."""
MAX_BYTES = 64 << 20
MAX_LINES, MAX_TAIL = 20_000, 8 << 20
"""Lines, and bytes, at the end of a journal that are read; of what comes before them the records of a few kinds."""
MAX_EARLIER = 2_000
MAX_FIRST = 32 << 20
"""Bytes of the first record, which has all parameters of a job file."""
_EARLIER = tuple(
    f'\n{{"version": {VERSION}, "kind": "{kind}", '.encode() for kind in ("cancelled", "changed", "notified")
)
"""How lines begin of which no later one says the same."""
TOLD = 20
"""Of lines that are no records, so many are told one by one."""
_LINE = re.compile(rb"[^\n]+")
END = 32 << 10
"""How much of a journal's end tells how a job stands: its last records are some 200 bytes each."""


class Read(Struct, frozen=True, kw_only=True):
    """Hold the records of a journal in order, and in words what could not be read."""

    records: tuple[Record, ...]
    read_errors: tuple[str, ...] = ()


def append(journal: Path, record: Record, *, inode: int | None = None) -> None:
    """Add a record; it is on the disk when this returns. OSError if it cannot be.

    A line that a crash or a full disk left torn is closed first, so that it spoils no record but its own.
    With `inode`, that of the journal from which the record follows, nothing is written to another job's that has
    taken its place. With the end of the job its secrets go, and the environment of its submit: no attempt will want
    them any more.
    """
    descriptor = os.open(journal, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        status = os.fstat(descriptor)
        if inode is not None and inode != status.st_ino:
            raise OSError(errno.ESTALE, "it is another job's now", str(journal))
        if isinstance(record, Ended):
            from shutil import rmtree

            rmtree(journal.with_name(SECRETS), ignore_errors=True)
            with suppress(OSError):
                forget_environment(journal.parent)
        size = status.st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        line = b"\n" * torn + dump(record)
        if os.write(descriptor, line) != len(line):
            # The disk filled up in the middle of a line; asking again gives the error its name.
            os.write(descriptor, b"\n")
            raise OSError(errno.ENOSPC, "the record was written in part", str(journal))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(journal: Path) -> Read:
    """Return the records; what cannot be read is left out and reported. OSError if there is no journal.

    Of one that is longer than any job's, no more is read than takes a moment: the first record, the last ones, and of
    those between what stays true: changes, a cancel, and which events were told.
    """
    data, whole = read_end(journal, MAX_BYTES)
    start = _start_of_last(data)
    found = _records(data, start, first=1 if whole and not start else 2)
    if whole and not start:
        return found
    created = read_first(journal)
    records = (*([created] if created else ()), *_earlier(data, start), *found.records)
    return replace(found, records=records)


def _start_of_last(data: bytes) -> int:
    """Return where the part of a journal begins that is read line by line, at the end of a line before it."""
    start = len(data)
    for _ in range(MAX_LINES):
        start = data.rfind(b"\n", 0, max(0, start))
        if start < 0:
            return max(0, len(data) - MAX_TAIL)
    return max(start, len(data) - MAX_TAIL)


def _earlier(data: bytes, end: int) -> list[Record]:
    """Return the last records before `end` of the kinds that stay true, no more than take a moment."""
    places: list[tuple[int, int]] = []
    left = MAX_TAIL
    for begins in _EARLIER:
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


def read_last(journal: Path) -> Read:
    """Return the last records of a journal, enough to tell how the job stands."""
    data, whole = read_end(journal, END)
    found = _records(data, first=1 if whole else 2)
    if whole or any(isinstance(record, (Created, Submitted, Ended)) for record in found.records):
        return found
    return read(journal)


def read_first(journal: Path) -> Created | None:
    """Return the record that begins a journal, None where that cannot be read; OSError if there is no journal."""
    with os.fdopen(open_regular(journal), "rb") as file:
        line = file.readline(MAX_FIRST)
    try:
        first = parse(line)
    except CorruptDataError:
        return None
    return first if isinstance(first, Created) else None


def _records(data: bytes, start: int = 0, *, first: int) -> Read:
    """Read lines from `start` on; `first` is 2 where the first one may be the end of a longer one."""
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
            if bad <= TOLD:
                where = f"line {before + number}"
                read_errors.append("its last line is torn" if last else f"{where} cannot be read: {error}")
    if bad > TOLD:
        read_errors.append(f"{counted(bad - TOLD, 'more line')} cannot be read")
    return Read(records=tuple(records), read_errors=tuple(read_errors))
