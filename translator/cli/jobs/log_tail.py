"""Read log files that grow: what is new since the last time, and the last lines."""

from __future__ import annotations

import errno
import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ...state.safe_read import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ...state.job_folder import JobFolder
    from ...state.records import JobRole

CHUNK = 1 << 16
MAX_END = 1 << 16
MAX_LINE = 2000
"""Of a summary: bytes of the end of a log, and characters of a line."""
MAX_TAIL_BYTES = 64 << 20
"""How far back lines are looked for."""


class TaskLog:
    """The output of one task: of the task attempt asked for, else of the newest, moving on with retries."""

    def __init__(
        self,
        folder: JobFolder,
        attempt: int,
        role: JobRole,
        index: int,
        *,
        stream: str,
        task_attempt: int | None,
    ) -> None:
        self._where = (folder, attempt, role, index)
        self.role, self.index, self.stream = role.name, index, stream
        self._moves = task_attempt is None
        self.task_attempt = self._newest() if task_attempt is None else task_attempt
        self._offset = 0
        self._owner = folder.path.stat().st_uid

    @property
    def label(self) -> str:
        """The task's name, `worker-0`."""
        return f"{self.role}-{self.index}"

    @property
    def path(self) -> Path:
        """The file that is being read; it may not be there yet."""
        return self._path(self.task_attempt)

    def _path(self, task_attempt: int) -> Path:
        folder, attempt, role, index = self._where
        path = folder.log(attempt, role, index, task_attempt, self.stream)
        if self.stream == "stderr" and not path.exists():
            # A task makes the file of its errors first: where there is none, one file has both streams.
            both = folder.log(attempt, role, index, task_attempt, "stdout")
            return both if both.exists() else path
        return path

    def _newest(self) -> int:
        # There may be one file for both streams.
        stream = "std(?:err|out)" if self.stream == "stderr" else self.stream
        return max(self._attempts(stream), default=0)

    def attempts(self) -> set[int]:
        """Return the task attempts that have a log, of whatever stream."""
        return self._attempts("[a-z]+")

    def _attempts(self, stream: str) -> set[int]:
        folder, attempt, role, index = self._where
        pattern = re.compile(rf"{stream}(?:\.(\d{{1,9}}))?\.log")
        names = _names_by_index(folder.logs(attempt, role)).get(str(index), ())
        return {int(match[1] or 0) for name in names if (match := pattern.fullmatch(name))}

    def skip_to_last_lines(self, count: int) -> None:
        """Begin at the last `count` lines of what is there."""
        self._offset = start_of_last_lines(self.path, count, self._owner)

    def read(self) -> Iterator[bytes]:
        """Yield what is new, in pieces; when a retry has begun, first the rest of the attempt before it."""
        yield from self._rest()
        while self._moves and self._path(self.task_attempt + 1).exists():
            self.task_attempt += 1
            self._offset = 0
            yield from self._rest()

    def _rest(self) -> Iterator[bytes]:
        try:
            # Hundreds of logs are looked at twice a second: most have nothing new.
            if self.path.stat().st_size == self._offset:
                return
            descriptor = open_log(self.path, self._owner)
        except OSError:
            return
        try:
            if os.fstat(descriptor).st_size < self._offset:
                # Cut short by the job itself.
                self._offset = 0
            for piece, end in written(descriptor, self._offset):
                self._offset = end
                if piece:
                    yield piece
        finally:
            os.close(descriptor)


def _names_by_index(folder: Path) -> Mapping[str, Sequence[str]]:
    """Return the names of the logs in the folder of a role, without their index, by that index."""
    try:
        return _listed(folder, folder.stat().st_mtime_ns)
    except OSError:
        return {}


@lru_cache(maxsize=16)
def _listed(folder: Path, changed: int) -> Mapping[str, Sequence[str]]:  # noqa: ARG001 - what the cache goes by
    """List a folder once for all of its tasks: there may be thousands, and each asks."""
    found: dict[str, list[str]] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            index, _, rest = entry.name.partition(".")
            found.setdefault(index, []).append(rest)
    return found


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


class Prefixer:
    """Put `worker-0 | ` before each line; the beginning of a line is kept back until its end comes."""

    LONGEST = 1 << 20

    def __init__(self, label: str) -> None:
        self._prefix = label.encode() + b" | "
        self._kept = b""

    def lines(self, piece: bytes) -> bytes:
        """Return the lines that are complete now."""
        *complete, self._kept = (self._kept + piece).split(b"\n")
        if len(self._kept) > self.LONGEST:
            complete.append(self._kept)
            self._kept = b""
        return b"".join(self._prefix + line + b"\n" for line in complete)

    def rest(self) -> bytes:
        """Return a last line that has no end."""
        kept, self._kept = self._kept, b""
        return self._prefix + kept + b"\n" if kept else b""
