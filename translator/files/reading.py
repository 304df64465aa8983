"""Read files that any process may have written: with a size limit, without waiting.

The tasks of a job run as its user, so a file in a job folder may be a pipe, a terabyte, or garbage.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_SCRIPT = 64 << 20


def open_regular(path: Path) -> int:
    """Open a regular file for reading and return its descriptor. Raises OSError for any other file.

    Check the type before opening: opening some devices has effects. O_NONBLOCK: opening a pipe that replaced the
    file would wait for a writer.
    """
    with naming(path):
        is_file = stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY) if is_file else -1
        try:
            is_file = is_file and stat.S_ISREG(os.fstat(descriptor).st_mode)
        except OSError:
            os.close(descriptor)
            raise
    if is_file:
        return descriptor
    if descriptor >= 0:
        os.close(descriptor)
    raise FileNotFoundError(None, "not a regular file", str(path))


def read_end(path: Path, limit: int) -> tuple[bytes, bool]:
    """Return the last `limit` bytes of a file, and whether these are the whole file."""
    descriptor = open_regular(path)
    with os.fdopen(descriptor, "rb") as file, naming(path):
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - limit))
        return file.read(limit), size <= limit


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the file's name to errors. A file is stale if another NFS client removed it: report it as missing."""
    try:
        yield
    except OSError as error:
        number = errno.ENOENT if error.errno == errno.ESTALE else error.errno or 0
        raise OSError(number, os.strerror(number), str(path)) from error


def read_text(path: Path, limit: int = MAX_SCRIPT) -> str:
    """Return the content of a regular file. Raises OSError for any other file and for more than `limit` bytes."""
    with os.fdopen(open_regular(path), "rb") as file, naming(path):
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(None, f"file has more than {limit} bytes", str(path))
    return data.decode("utf-8", errors="surrogateescape")


def read_lines(path: Path, limit: int) -> list[bytes]:
    """Return the complete lines among the last `limit` bytes of a file, [] if it cannot be read."""
    try:
        data, whole = read_end(path, limit)
    except OSError:
        return []
    return data.split(b"\n")[0 if whole else 1 : -1]
