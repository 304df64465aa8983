"""Read what one task prints: what is new since the last time, of each stream that is wanted."""

from __future__ import annotations

import os
import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ....state.kept_plan import kept_plan
from ....state.tidying.tidy import is_tidied
from .tail import open_log, start_of_last_lines, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ....state.job_folder import JobFolder
    from ....state.records import JobRole


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


def has_one_log(folder: JobFolder, attempt: int) -> bool:
    """Tell whether a missing log of standard error is that of standard output: of a tidied attempt it was empty.

    Of a living one nothing else is read: its tasks make the file of their errors first.
    """
    return not is_tidied(folder.attempt(attempt)) or _planned(folder)


@lru_cache(maxsize=16)
def _planned(folder: JobFolder) -> bool:
    """Tell whether the plan of a job has one log; False where it cannot be read."""
    return kept_plan(folder.path).one_log


SETTLED = 2.0
"""Seconds after which a folder's time tells of the next file: two files can come within one tick of a clock."""
LONGEST = 10.0
"""Seconds after which a folder is listed again whatever its time says: another machine's changes can show late."""
NONE: frozenset[tuple[str, int]] = frozenset()
_NAME = re.compile(r"([0-9]{1,9})\.(stdout|stderr|runtime)(?:\.([0-9]{1,9}))?\.log")


class LogFolder:
    """The folder of what the tasks of a role print: it is listed when it has changed, once for all tasks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._changed = -1
        self._next = 0.0
        self._files: Mapping[int, frozenset[tuple[str, int]]] = {}
        self.look()

    def files(self, index: int) -> frozenset[tuple[str, int]]:
        """Return the logs of a task, each as stream and task attempt, as of the last look."""
        return self._files.get(index, NONE)

    def look(self, *, afresh: bool = False) -> list[int]:
        """Return the tasks that have other logs than at the last look; `afresh` trusts no time of the folder."""
        now = time.monotonic()
        try:
            changed = self.path.stat().st_mtime_ns
            if changed == self._changed and now < self._next and not afresh:
                return []
            settled = time.time() - changed / 1e9 > SETTLED
            before, files = self._files, _listed(self.path)
        except OSError:
            return []
        self._changed = changed if settled else -1
        self._next = now + LONGEST
        # What has not changed stays the same object: that is how tasks know.
        self._files = {index: before[index] if before.get(index) == found else found for index, found in files.items()}
        return [index for index, found in self._files.items() if found is not before.get(index)]


def _listed(folder: Path) -> Mapping[int, frozenset[tuple[str, int]]]:
    found: dict[int, list[tuple[str, int]]] = {}
    for name in os.listdir(folder):  # noqa: PTH208 - thousands of names
        if match := _NAME.fullmatch(name):
            found.setdefault(int(match[1]), []).append((match[2], int(match[3] or 0)))
    return {index: frozenset(files) for index, files in found.items()}
