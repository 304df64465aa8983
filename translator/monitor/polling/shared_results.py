"""Poll a backend rarely, and share its answer among all processes of a user, in one file.

A process uses the last answer if it is fresh enough. Otherwise one process polls for all jobs of the user, and the
others wait for its answer. Ages are measured by the file server's clock. If a backend refuses polls as too frequent,
all processes stop polling, for longer each time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import Meta, Struct, field, to_builtins
from msgspec.structs import replace

from paislurm.backends.base import JobId, Observation

from ...errors import PaislurmError, ThrottledError
from ...files.lock import Lock
from ...files.private import write_durably
from ...files.reading import read_end
from ...files.shared_files import SharedFiles
from ...state.parsed import CorruptDataError, read_json

if TYPE_CHECKING:
    from pathlib import Path

    from paislurm.backends.base import Backend


class PollResult(Struct, frozen=True, kw_only=True):
    """Hold a backend's answer; it covers only the jobs and tags of the poll.

    `time` is when the poll started, in seconds since 1970. `observations` are those of the jobs in `asked` that the
    backend knows, `found` the jobs of tags, None for an unknown tag. `error` and `tag_error` are the backend's
    errors, or "". `throttled` counts successive polls that the backend refused as too frequent.
    """

    time: float
    asked: frozenset[JobId] = frozenset()
    observations: Mapping[JobId, Observation] = field(default_factory=dict)
    found: Mapping[str, JobId | None] = field(default_factory=dict)
    error: str = ""
    tag_error: str = ""
    throttled: Annotated[int, Meta(ge=0)] = 0


NOT_ASKED = PollResult(time=0)
Ask: TypeAlias = Callable[[str, Collection[JobId], Collection[str]], PollResult]
"""Polls the named backend for jobs by id, and for others by tag."""


def ask_now(backend: Callable[[], Backend], ids: Collection[JobId], tags: Collection[str], time: float) -> PollResult:
    """Poll a backend for jobs, including those that a tag finds. An error is recorded in the answer."""
    answer = PollResult(time=time)
    try:
        known = backend().find(tags) if tags else {}
        answer = replace(answer, found={tag: known.get(tag) for tag in tags})
    except PaislurmError as error:
        answer = replace(answer, tag_error=error.words, throttled=int(isinstance(error, ThrottledError)))
    asked = frozenset(ids) | {job_id for job_id in answer.found.values() if job_id is not None}
    if not asked or answer.throttled:
        return replace(answer, error=answer.tag_error if answer.throttled else "")
    try:
        return replace(answer, asked=asked, observations=backend().observe(asked))
    except PaislurmError as error:
        return replace(answer, error=error.words, throttled=int(isinstance(error, ThrottledError)))


def asking(backend: Callable[[str], Backend], now: float) -> Ask:
    """Return a function that polls each backend at once."""
    return lambda name, ids, tags: ask_now(lambda: backend(name), ids, tags, now)


FILE, ASKING = "answer.json", "asking"
MAX_BYTES = 64 << 20
OTHER_SECONDS = 5.0
"""Seconds to wait for another process's answer."""
FIRST_BACK_OFF, MAX_BACK_OFF = 60, 960
"""Seconds without polls after a throttled poll; they double each time."""
AHEAD = 5.0
"""Seconds by which a file may be newer than the server's time; beyond that, its age is unknown."""


class SharedPollResults:
    """Poll one backend or return its last answer. `owner` describes this process for people who inspect the lock."""

    def __init__(self, backend: Callable[[], Backend], folder: Path, owner: str = "") -> None:
        self._backend = backend
        self._file = folder / FILE
        self._server = SharedFiles(folder)
        self._lock = Lock(SharedFiles(folder / ASKING), owner)
        self._last = NOT_ASKED
        self._stamp: tuple[int, int] | None = None

    def ask(
        self,
        ids: Collection[JobId],
        tags: Collection[str],
        max_age: float,
        others: Callable[[], tuple[Collection[JobId], Collection[str]]] = lambda: ((), ()),
    ) -> PollResult:
        """Return an answer at most `max_age` seconds old, or one that defers polls of a throttling backend.

        `others` is called before a poll and returns further ids and tags. An answer from another process may not
        cover the ids and tags of this call.
        """
        fresh = self._fresh(max_age)
        if fresh is not None:
            return fresh
        with self._lock.taken() as mine:
            if mine or self._lock.problem:
                # Another process may have polled meanwhile.
                new = self.news() is not None
                return (self._fresh(max_age) if new else None) or self._ask(ids, tags, others)
        return self._of_other(max_age)

    def news(self) -> PollResult | None:
        """Return an answer that another process got since this one's last, None if there is none."""
        before = self._stamp
        self._read()
        return self._last if self._stamp != before else None

    def _ask(
        self,
        ids: Collection[JobId],
        tags: Collection[str],
        others: Callable[[], tuple[Collection[JobId], Collection[str]]],
    ) -> PollResult:
        more_ids, more_tags = others()
        # Use the time before the poll: a claim made meanwhile is newer than the answer.
        began = self._now()
        answer = ask_now(self._backend, {*ids, *more_ids}, {*tags, *more_tags}, began)
        self._last = answer = replace(answer, throttled=self._last.throttled + 1 if answer.throttled else 0)
        with suppress(OSError):
            self._write(json.dumps(to_builtins(answer)).encode(), began)
        return answer

    def _write(self, data: bytes, time: float) -> None:
        """Replace the file by an answer, with its age. The writer holds the lock; a lost answer is polled again."""
        write_durably(self._file, data, at=time)
        self._stamp = _stamp(self._file.stat())

    def _of_other(self, max_age: float) -> PollResult:
        """Wait for the answer that another process polls for. Return NOT_ASKED if none arrives."""
        until = time.monotonic() + OTHER_SECONDS
        while time.monotonic() < until:
            time.sleep(0.1)
            fresh = self._fresh(max_age)
            if fresh is not None:
                return fresh
        return NOT_ASKED

    def _fresh(self, max_age: float) -> PollResult | None:
        """Return the last answer unless it is too old. If no file can be written, use this process's own."""
        self._read()
        last = self._last
        age = self._now() - last.time
        if last.throttled:
            max_age = max(max_age, min(MAX_BACK_OFF, FIRST_BACK_OFF << min(last.throttled - 1, 10)))
        return last if -AHEAD <= age < max_age else None

    def _read(self) -> None:
        """Read the file if it has changed and is newer than this process's own answer."""
        try:
            status = self._file.stat()
            if _stamp(status) == self._stamp or status.st_mtime < self._last.time - AHEAD:
                return
            data, whole = read_end(self._file, MAX_BYTES)
            last = read_json(data, PollResult) if whole else NOT_ASKED
        except (OSError, CorruptDataError):
            return
        self._stamp, self._last = _stamp(status), replace(last, time=status.st_mtime)

    def _now(self) -> float:
        try:
            return self._server.now()
        except OSError:
            return time.time()


def _stamp(status: os.stat_result) -> tuple[int, int]:
    return status.st_ino, status.st_mtime_ns
