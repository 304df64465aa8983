"""Read log files that grow: a piece at a time, without their holes, and where their last lines begin."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from ....state.safe_read import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHUNK = 1 << 16
MAX_END = 1 << 16
MAX_LINE = 2000
"""Of a summary: bytes of the end of a log, and characters of a line."""
MAX_TAIL_BYTES = 64 << 20
"""How far back lines are looked for."""


def written(descriptor: int, offset: int) -> Iterator[tuple[bytes, int]]:
    """Yield what a file has from an offset on, in pieces, each with where it ends; of its holes nothing."""
    while piece := os.pread(descriptor, CHUNK, offset):
        end = offset + len(piece)
        if piece.count(0) == len(piece) and (data := _next_data(descriptor, offset)) > offset:
            piece, end = b"", data
        offset = end
        yield piece, offset


def _next_data(descriptor: int, offset: int) -> int:
    """Return where data begins after a hole, `offset` where there is no hole. Source: lseek(2), SEEK_DATA."""
    size = os.fstat(descriptor).st_size
    try:
        return os.lseek(descriptor, offset, os.SEEK_DATA)
    except OSError as error:
        return size if error.errno == errno.ENXIO else offset


def open_log(path: Path, owner: int) -> int:
    """Open a log of a job that belongs to `owner`; OSError for what is no file, or another's.

    It can be a link to what its reader alone may read, who would show it to others.
    """
    descriptor = open_regular(path)
    if os.fstat(descriptor).st_uid != owner:
        os.close(descriptor)
        raise FileNotFoundError(None, "it does not belong to the owner of the job", str(path))
    return descriptor


def start_of_last_lines(path: Path, count: int, owner: int) -> int:
    """Return where the last `count` lines of a file begin, no more than FURTHEST back; 0 for one that is not there."""
    try:
        descriptor = open_log(path, owner)
    except OSError:
        return 0
    with os.fdopen(descriptor, "rb") as file:
        end = size = file.seek(0, os.SEEK_END)
        wanted = count
        furthest = max(0, size - MAX_TAIL_BYTES)
        while end > furthest and wanted > 0:
            start = max(0, end - CHUNK)
            file.seek(start)
            piece = file.read(end - start)
            searched = len(piece)
            if end == size and piece.endswith(b"\n"):
                searched -= 1
            while (found := piece.rfind(b"\n", 0, searched)) >= 0:
                wanted -= 1
                if wanted <= 0:
                    return start + found + 1
                searched = found
            end = start
        return end if count else size


def last_lines(path: Path, count: int, owner: int) -> tuple[str, ...]:
    """Return the last `count` lines of a log as text, of a progress bar its last state; () where there is none.

    Of a line only the last MAX_LINE characters are kept. NULs, which a file with holes is full of, are left out.
    """
    try:
        descriptor = open_log(path, owner)
    except OSError:
        return ()
    with os.fdopen(descriptor, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - MAX_END))
        text = file.read(MAX_END).replace(b"\0", b"").decode("utf-8", errors="replace")
    lines = (line.rstrip("\r").rpartition("\r")[2].rstrip() for line in text.split("\n"))
    return tuple(line[-MAX_LINE:] for line in lines if line)[-count:]
