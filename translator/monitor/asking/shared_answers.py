"""Ask a backend seldom, and share what it says with all processes of a user: one file, which one of them writes.

Whoever wants to know takes the last answer if it is fresh enough; else one process asks, for everything that the user's
jobs need, and the others wait for its answer. Ages are told by the file server's clock. A backend that says that it is
asked too often is left alone, for longer each time, by all of them.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import to_builtins
from msgspec.structs import replace

from paislurm.backends.base import JobId

from ...state.lock import Lock
from ...state.safe_read import CorruptDataError, read_end, read_json
from ...state.shared_files import SharedFiles
from .answer import NOT_ASKED, Answer, ask_now

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from paislurm.backends.base import Backend

FILE, ASKING = "answer.json", "asking"
MAX_BYTES = 64 << 20
OTHER_SECONDS = 5.0
"""For so long an answer is waited for that another process has asked for."""
FIRST_BACK_OFF, MAX_BACK_OFF = 60, 960
"""Seconds for which a backend that is asked too often is not asked: twice as long each time."""
AHEAD = 5.0
"""Seconds by which a file may be newer than the server's time; one that is more so tells no age."""


class SharedAnswers:
    """Ask one backend, or take what it said last. `owner` says in words who asks, for people that look."""

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
    ) -> Answer:
        """Return an answer that is at most `max_age` seconds old, or says that the backend is to be left alone.

        `others` is called before the backend is asked: ids and tags that are asked for beside those that are wanted.
        An answer that comes from another process may tell nothing of these.
        """
        fresh = self._fresh(max_age)
        if fresh is not None:
            return fresh
        with self._lock.taken() as mine:
            if mine or self._lock.problem:
                # Another process may have been faster.
                return self._fresh(max_age) or self._ask(ids, tags, others)
        return self._of_other(max_age)

    def news(self) -> Answer | None:
        """Return the answer that another process has got since this one had its last, None where there is none."""
        before = self._stamp
        self._read()
        return self._last if self._stamp != before else None

    def _ask(
        self,
        ids: Collection[JobId],
        tags: Collection[str],
        others: Callable[[], tuple[Collection[JobId], Collection[str]]],
    ) -> Answer:
        more_ids, more_tags = others()
        # The time before it is asked: a claim that comes meanwhile is newer than what the backend says.
        began = self._now()
        answer = ask_now(self._backend, {*ids, *more_ids}, {*tags, *more_tags}, began)
        self._last = answer = replace(answer, throttled=self._last.throttled + 1 if answer.throttled else 0)
        with suppress(OSError):
            self._write(json.dumps(to_builtins(answer)).encode(), began)
        return answer

    def _write(self, data: bytes, time: float) -> None:
        """Put an answer in place whole, as old as it is. Who writes has the lock; what is lost is asked again."""
        new = self._file.with_name(f".{FILE}.new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.utime(new, (time, time))
        new.replace(self._file)
        self._stamp = _stamp(self._file.stat())

    def _of_other(self, max_age: float) -> Answer:
        """Wait for the answer that another process has asked for; without one nothing is said."""
        until = time.monotonic() + OTHER_SECONDS
        while time.monotonic() < until:
            time.sleep(0.1)
            fresh = self._fresh(max_age)
            if fresh is not None:
                return fresh
        return NOT_ASKED

    def _fresh(self, max_age: float) -> Answer | None:
        """Return the last answer unless it is too old. Where none can be kept in a file, this process knows its own."""
        self._read()
        last = self._last
        age = self._now() - last.time
        if last.throttled:
            max_age = max(max_age, min(MAX_BACK_OFF, FIRST_BACK_OFF << min(last.throttled - 1, 10)))
        return last if -AHEAD <= age < max_age else None

    def _read(self) -> None:
        """Take in the file if it is another one than this process has read, and newer than its own last answer."""
        try:
            status = self._file.stat()
            if _stamp(status) == self._stamp or status.st_mtime < self._last.time - AHEAD:
                return
            data, whole = read_end(self._file, MAX_BYTES)
            last = read_json(data, Answer) if whole else NOT_ASKED
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
