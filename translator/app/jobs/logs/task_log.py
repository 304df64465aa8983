"""Read the new output of one task, for each selected stream."""

from __future__ import annotations

import os
import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ....state.kept_plan import kept_plan
from ....state.tidy import is_tidied
from ...log_reading import open_log, start_of_last_lines, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ....state.job_folder import JobFolder
    from ....state.journal_records import JobRole
    from .selection import Stream


class Piece(NamedTuple):
    """Bytes of a stream."""

    stream: Stream
    data: bytes


class TaskLog:
    """The output of one task: of the selected task attempt, else of the newest, following retries."""

    def __init__(self, logs: LogFolder, index: int, *, streams: Sequence[Stream], task_attempt: int | None) -> None:
        self._logs = logs
        self.attempt, self.role, self.index = logs.attempt, logs.role.name, index
        self._streams = streams
        self._moves = task_attempt is None
        self.task_attempt = max(self._numbers(), default=0) if task_attempt is None else task_attempt
        self._offsets: dict[str, int] = {}
        self._readable: Sequence[tuple[Stream, Path]] = ()
        self._there: frozenset[tuple[str, int]] | None = None

    @property
    def label(self) -> str:
        """The task's name, `worker-0`."""
        return f"{self.role}-{self.index}"

    def attempts(self) -> set[int]:
        """Return the task attempts with a log of any stream."""
        return {number for _, number in self._logs.files(self.index)}

    def has_files(self) -> bool:
        """Return whether the task has a log of any stream and attempt."""
        return bool(self._logs.files(self.index))

    def _numbers(self) -> set[int]:
        # One file may contain both streams.
        wanted: set[str] = {*self._streams, "stdout"} if "stderr" in self._streams else set(self._streams)
        return {number for stream, number in self._logs.files(self.index) if stream in wanted}

    def files(self) -> list[tuple[Stream, Path, bool]]:
        """Return the files to read: stream, path, and whether it exists.

        If one file contains both streams, it is returned for standard error, and only once for both.
        """
        there = self._logs.files(self.index)
        found: list[tuple[Stream, bool]] = [(stream, (stream, self.task_attempt) in there) for stream in self._streams]
        # A task creates the file of standard error first: without it, one file contains both streams.
        one_file = ("stdout", self.task_attempt) in there and ("stderr", self.task_attempt) not in there
        if one_file and "stderr" in self._streams and has_one_log(self._logs.job, self.attempt):
            found = [("stdout", True)]
        return [(stream, self._logs.file(self.index, self.task_attempt, stream), exists) for stream, exists in found]

    def skip_to_last_lines(self, count: int) -> None:
        """Start at the last `count` lines of each stream."""
        for stream, path, exists in self.files():
            if exists:
                self._offsets[stream] = start_of_last_lines(path, count, self._logs.owner)

    def skip_older(self, since: float) -> None:
        """Start at the end of each file whose last write is before `since`, in seconds since 1970."""
        for stream, path, exists in self.files():
            try:
                found = path.stat() if exists else None
            except OSError:
                continue
            if found is not None and found.st_mtime < since:
                self._offsets[stream] = found.st_size

    def read(self) -> Iterator[Piece]:
        """Yield new pieces; after a retry, first the rest of the previous attempt."""
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
        """Cache the list of files: thousands of tasks are read often and rarely have new files."""
        self._readable = [(stream, path) for stream, path, exists in self.files() if exists]

    def _rest(self) -> Iterator[Piece]:
        for stream, path in self._readable:
            yield from self._rest_of(stream, path)

    def _rest_of(self, stream: Stream, path: Path) -> Iterator[Piece]:
        try:
            # Most files have nothing new.
            if path.stat().st_size == self._offsets.get(stream, 0):
                return
            descriptor = open_log(path, self._logs.owner)
        except OSError:
            return
        try:
            if os.fstat(descriptor).st_size < self._offsets.get(stream, 0):
                # The job itself truncated the file.
                self._offsets[stream] = 0
            for data, end in written(descriptor, self._offsets.get(stream, 0)):
                self._offsets[stream] = end
                if data:
                    yield Piece(stream, data)
        finally:
            os.close(descriptor)


def has_one_log(folder: JobFolder, attempt: int) -> bool:
    """Return whether one log contains both streams: in a tidied attempt, a missing one may have been empty.

    In an unfinished attempt no other file is read: its tasks create the file of standard error first.
    """
    return not is_tidied(folder.attempt(attempt)) or _planned(folder)


@lru_cache(maxsize=16)
def _planned(folder: JobFolder) -> bool:
    """Return whether the plan has one log for both streams; False if it cannot be read."""
    return kept_plan(folder.path).one_log


SETTLED = 2.0
"""Seconds after which a folder's time shows the next file: two files can be created within one tick of a clock."""
LONGEST = 10.0
"""Seconds after which a folder is always listed again: changes by other machines can become visible late."""
NONE: frozenset[tuple[str, int]] = frozenset()
_NAME = re.compile(r"([0-9]{1,9})\.(stdout|stderr|runtime)(?:\.([0-9]{1,9}))?\.log")


class LogFolder:
    """The logs of a role's tasks in one attempt. Their folder is listed after a change, once for all tasks."""

    def __init__(self, job: JobFolder, attempt: int, role: JobRole, clock: Callable[[], float]) -> None:
        self.job, self.attempt, self.role, self._clock = job, attempt, role, clock
        self.owner = job.path.stat().st_uid
        """The owner of the job: logs of others are not read."""
        self.path = job.logs(attempt, role)
        self._changed = -1
        self._next = 0.0
        self._files: Mapping[int, frozenset[tuple[str, int]]] = {}
        self.refresh()

    def file(self, index: int, task_attempt: int, stream: Stream) -> Path:
        """Return the path of a log."""
        return self.job.log(self.attempt, self.role, index, task_attempt, stream)

    def files(self, index: int) -> frozenset[tuple[str, int]]:
        """Return the logs of a task at the last check, as streams and task attempts."""
        return self._files.get(index, NONE)

    def refresh(self, *, afresh: bool = False) -> list[int]:
        """Return the tasks with new logs since the last check; `afresh` ignores the time of the folder."""
        now = time.monotonic()
        try:
            changed = self.path.stat().st_mtime_ns
            if changed == self._changed and now < self._next and not afresh:
                return []
            settled = self._clock() - changed / 1e9 > SETTLED
            before, files = self._files, _listed(self.path)
        except OSError:
            return []
        self._changed = changed if settled else -1
        self._next = now + LONGEST
        # An unchanged set stays the same object, so that tasks detect changes by identity.
        self._files = {index: before[index] if before.get(index) == found else found for index, found in files.items()}
        return [index for index, found in self._files.items() if found is not before.get(index)]


def _listed(folder: Path) -> Mapping[int, frozenset[tuple[str, int]]]:
    found: dict[int, list[tuple[str, int]]] = {}
    for name in os.listdir(folder):  # noqa: PTH208 - thousands of names
        if match := _NAME.fullmatch(name):
            found.setdefault(int(match[1]), []).append((match[2], int(match[3] or 0)))
    return {index: frozenset(files) for index, files in found.items()}
