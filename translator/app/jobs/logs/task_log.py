"""Read what one task prints: what is new since the last time, of each stream that is wanted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ..folders.one_log import has_one_log
from .tail import open_log, start_of_last_lines, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ....state.job_folder import JobFolder
    from ....state.records import JobRole
    from .log_folder import LogFolder


class Piece(NamedTuple):
    """Some bytes of a stream, and by when they were written at the latest, in seconds since 1970."""

    stream: str
    data: bytes
    written_by: float


class TaskLog:
    """The output of one task: of the task attempt asked for, else of the newest, moving on with retries."""

    def __init__(
        self,
        folder: JobFolder,
        attempt: int,
        role: JobRole,
        index: int,
        *,
        streams: Sequence[str],
        task_attempt: int | None,
        logs: LogFolder,
        owner: int,
    ) -> None:
        self._job, self._role, self._logs, self._owner = folder, role, logs, owner
        self.attempt, self.role, self.index = attempt, role.name, index
        self._streams = streams
        self._moves = task_attempt is None
        self.task_attempt = max(self._numbers(), default=0) if task_attempt is None else task_attempt
        self._offsets: dict[str, int] = {}
        self._readable: Sequence[tuple[str, Path]] = ()
        self._there: frozenset[tuple[str, int]] | None = None

    @property
    def label(self) -> str:
        """The task's name, `worker-0`."""
        return f"{self.role}-{self.index}"

    def attempts(self) -> set[int]:
        """Return the task attempts that have a log, of whatever stream."""
        return {number for _, number in self._logs.files(self.index)}

    def has_files(self) -> bool:
        """Tell whether the task has a log, of whatever stream and attempt."""
        return bool(self._logs.files(self.index))

    def _numbers(self) -> set[int]:
        # There may be one file for both streams.
        wanted = {*self._streams, "stdout"} if "stderr" in self._streams else set(self._streams)
        return {number for stream, number in self._logs.files(self.index) if stream in wanted}

    def files(self) -> list[tuple[str, Path, bool]]:
        """Return the files that are read: stream, path, and whether it is there.

        Where standard error alone is wanted and there is one file for both streams, it is that one; where both are
        wanted, it is that one alone.
        """
        there = self._logs.files(self.index)
        found = [(stream, (stream, self.task_attempt) in there) for stream in self._streams]
        # A task makes the file of its errors first: where there is none, one file has both streams.
        one_file = ("stdout", self.task_attempt) in there and ("stderr", self.task_attempt) not in there
        if one_file and "stderr" in self._streams and has_one_log(self._job, self.attempt):
            found = [("stdout", True)]
        return [
            (stream, self._job.log(self.attempt, self._role, self.index, self.task_attempt, stream), exists)
            for stream, exists in found
        ]

    def skip_to_last_lines(self, count: int) -> None:
        """Begin at the last `count` lines of what is there of each stream."""
        for stream, path, exists in self.files():
            if exists:
                self._offsets[stream] = start_of_last_lines(path, count, self._owner)

    def skip_older(self, since: float) -> None:
        """Begin at the end of each file that was last written before a time, in seconds since 1970."""
        for stream, path, exists in self.files():
            try:
                found = path.stat() if exists else None
            except OSError:
                continue
            if found is not None and found.st_mtime < since:
                self._offsets[stream] = found.st_size

    def read(self) -> Iterator[Piece]:
        """Yield what is new, in pieces; when a retry has begun, first the rest of the attempt before it."""
        there = self._logs.files(self.index)
        changed = there is not self._there
        if changed:
            self._find()
        yield from self._rest()
        if changed and self._moves:
            for number in sorted(number for number in self._numbers() if number > self.task_attempt):
                self.task_attempt = number
                self._offsets.clear()
                self._find()
                yield from self._rest()
        self._there = there

    def _find(self) -> None:
        """Keep which files there are: thousands of tasks are asked often, and seldom have another file."""
        self._readable = [(stream, path) for stream, path, exists in self.files() if exists]

    def _rest(self) -> Iterator[Piece]:
        for stream, path in self._readable:
            yield from self._rest_of(stream, path)

    def _rest_of(self, stream: str, path: Path) -> Iterator[Piece]:
        try:
            # Most have nothing new.
            if path.stat().st_size == self._offsets.get(stream, 0):
                return
            descriptor = open_log(path, self._owner)
        except OSError:
            return
        try:
            if os.fstat(descriptor).st_size < self._offsets.get(stream, 0):
                # Cut short by the job itself.
                self._offsets[stream] = 0
            for data, end in written(descriptor, self._offsets.get(stream, 0)):
                self._offsets[stream] = end
                if data:
                    yield Piece(stream, data, os.fstat(descriptor).st_mtime)
        finally:
            os.close(descriptor)
