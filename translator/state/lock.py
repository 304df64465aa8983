"""One owner at a time, on a file system that several machines share: link(2), names, and the server's own times.

A lock is a folder of files `lock.<n>`, of which the highest is the owner's. Who finds it given up (its time set to
0) or stale (no heartbeat for a while) may make the next one, by a link that only one can make, and removes those
before. No file is ever taken away from an owner, so that who comes late can spoil nothing: its link fails, or is not
the highest. Times are compared with that of a file written a moment before: no machine's own clock is asked.

An owner that is halted for longer than a heartbeat may be replaced, and learns of it from `held`; what it does in that
very moment must be harmless if it is done twice.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from os import urandom
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .shared_files import Files, Stamp

STALE_SECONDS = 60
BEAT_SECONDS = 10
ABANDONED_SECONDS = 3600
_NAME = "lock."


class Lock:
    """Be the one owner, or not. `owner` says in words who takes it, for people that look.

    `problem` is why the folder could not be written when it was last tried, "" where it could.
    """

    def __init__(self, files: Files, owner: str = "") -> None:
        self._files = files
        self._owner = owner
        self.problem = ""
        self._number = 0
        self._inode = 0

    def take(self) -> bool:
        """Become the owner; False if there is one. OSError if the folder cannot be written."""
        own = f".owner-{urandom(8).hex()}"
        mine = self._files.create(own, self._owner)
        try:
            return self._take(own, mine)
        finally:
            self._files.remove(own)

    def _take(self, own: str, mine: Stamp) -> bool:
        last = self._last()
        if last and not self._is_free(last, mine.time):
            return False
        if not self._files.link(own, f"{_NAME}{last + 1}"):
            return False
        if self._last() != last + 1:
            # While this process slept, others came and went, and removed the name that it has just made again.
            self._files.remove(f"{_NAME}{last + 1}")
            return False
        self._number, self._inode = last + 1, mine.inode
        self._clean(mine.time)
        return True

    def _last(self) -> int:
        numbers = (name.removeprefix(_NAME) for name in self._files.names() if name.startswith(_NAME))
        return max((int(number) for number in numbers if number.isdecimal()), default=0)

    def _is_free(self, number: int, now: float) -> bool:
        """Tell whether an owner gave up, or has not been heard of; a time far ahead is no heartbeat either."""
        found = self._files.stamp(f"{_NAME}{number}")
        return found is None or abs(now - found.time) > STALE_SECONDS

    def _clean(self, now: float) -> None:
        """Remove what is of no use any more, the oldest first."""
        for name in sorted(self._files.names()):
            number = name.removeprefix(_NAME)
            if name.startswith(_NAME) and number.isdecimal() and int(number) < self._number:
                self._files.remove(name)
            elif name.startswith(".owner-"):
                left = self._files.stamp(name)
                if left is not None and now - left.time > ABANDONED_SECONDS:
                    self._files.remove(name)

    def holds_lock(self) -> bool:
        """Tell whether this process still is the owner."""
        if not self._number:
            return False
        mine = self._files.stamp(f"{_NAME}{self._number}")
        return (
            mine is not None
            and mine.inode == self._inode
            and self._files.stamp(f"{_NAME}{self._number + 1}") is None
        )  # fmt: skip

    def now(self) -> int:
        """Return the server's time in seconds since 1970, which is a heartbeat too."""
        name = f"{_NAME}{self._number}"
        self._files.touch(name)
        found = self._files.stamp(name)
        if found is None:
            raise FileNotFoundError(None, "the lock is another process's", name)
        return int(found.time)

    def beat(self) -> None:
        """Show that the owner lives."""
        self._files.touch(f"{_NAME}{self._number}")

    def give_up(self) -> None:
        """Let anybody else become the owner at once."""
        if self._number:
            self._files.touch(f"{_NAME}{self._number}", at=0)
            self._number = 0

    def owned(self) -> bool:
        """Tell whether somebody is the owner. The server's time is that of a file made for it."""
        own = f".owner-{urandom(8).hex()}"
        now = self._files.create(own, self._owner).time
        try:
            last = self._last()
            return last > 0 and not self._is_free(last, now)
        finally:
            self._files.remove(own)

    @contextmanager
    def taken(self) -> Iterator[bool]:
        """Try to be the owner for a while, with a heartbeat; a folder that cannot be written has no owner."""
        self.problem = ""
        try:
            mine = self.take()
        except OSError as error:
            mine = False
            self.problem = error.strerror or str(error)
        if not mine:
            yield False
            return
        over = threading.Event()
        heart = threading.Thread(target=self._beat_until, args=(over,), daemon=True)
        heart.start()
        try:
            yield True
        finally:
            over.set()
            heart.join()
            with suppress(OSError):
                self.give_up()

    def _beat_until(self, over: threading.Event) -> None:
        while not over.wait(BEAT_SECONDS):
            with suppress(OSError):
                self.beat()
