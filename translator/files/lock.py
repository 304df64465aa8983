"""A lock with one owner on a shared file system, built from link(2), names, and the server's times.

A lock is a folder of files `lock.<n>`; the highest number belongs to the owner. A process that finds the lock
released (its time set to 0) or stale (no recent heartbeat) may take the next number, by a link that only one process
can make, and removes the lower ones. No process removes the owner's file. So a late process does no harm: its link
fails, or its number is not the highest. Times are compared with that of a file written a moment before, never with a
machine's clock.

An owner that stalls for longer than the stale time may be replaced; `holds_lock` then returns False. Its actions at
that moment must be harmless if done twice.
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
    """Try to be the only owner. `owner` describes this process for people who inspect the file.

    `problem` is the last error while writing the folder, "" if there was none.
    """

    def __init__(self, files: Files, owner: str = "") -> None:
        self._files = files
        self._owner = owner
        self.problem = ""
        self._number = 0
        self._inode = 0

    def take(self) -> bool:
        """Become the owner. Return False if there is another owner. Raises OSError if the folder cannot be written."""
        own = f".owner-{urandom(8).hex()}"
        mine = self._files.create(own, self._owner)
        try:
            return self._take(own, mine)
        finally:
            self._files.remove(own)

    def _take(self, own: str, mine: Stamp) -> bool:
        last = _highest(self._files.names())
        if last and not self._is_free(last, own, mine.time):
            return False
        if not self._files.link(own, f"{_NAME}{last + 1}"):
            return False
        names = self._files.names()
        if _highest(names) != last + 1:
            # Others took and removed this number while this process slept, and it has made the name again.
            self._files.remove(f"{_NAME}{last + 1}")
            return False
        self._number, self._inode = last + 1, mine.inode
        self._clean([name for name in names if name != own], mine.time)
        return True

    def _is_free(self, number: int, own: str, now: float) -> bool:
        """Return whether an owner has released the lock or is stale; a time far ahead is not a heartbeat either.

        `now` is the time of the file `own`. If this process stalled since, a heartbeat seems far ahead of it.
        """
        found = self._files.stamp(f"{_NAME}{number}")
        if found is not None and found.time - now > STALE_SECONDS:
            self._files.touch(own)
            again = self._files.stamp(own)
            now = again.time if again is not None else found.time
        return found is None or abs(now - found.time) > STALE_SECONDS

    def _clean(self, names: list[str], now: float) -> None:
        """Remove obsolete files, the oldest first. No failure counts: the lock is taken already."""
        for name in sorted(names):
            number = name.removeprefix(_NAME)
            is_lower = name.startswith(_NAME) and number.isdecimal() and int(number) < self._number
            # On NFS a file whose creation was interrupted may have no permissions: even its owner cannot open it.
            with suppress(OSError):
                if is_lower or (name.startswith(".") and self._is_abandoned(name, now)):
                    self._files.remove(name)

    def _is_abandoned(self, name: str, now: float) -> bool:
        """Return whether a killed process has left a file: those of this folder are hidden only while it writes."""
        left = self._files.stamp(name)
        return left is not None and now - left.time > ABANDONED_SECONDS

    def holds_lock(self) -> bool:
        """Return whether this process still is the owner."""
        if not self._number:
            return False
        mine = self._files.stamp(f"{_NAME}{self._number}")
        return (
            mine is not None
            and mine.inode == self._inode
            and self._files.stamp(f"{_NAME}{self._number + 1}") is None
        )  # fmt: skip

    def now(self) -> int:
        """Return the server's time in seconds since 1970. This also counts as a heartbeat."""
        name = f"{_NAME}{self._number}"
        self._files.touch(name)
        found = self._files.stamp(name)
        if found is None:
            raise FileNotFoundError(None, "another process owns the lock", name)
        return int(found.time)

    def beat(self) -> None:
        self._files.touch(f"{_NAME}{self._number}")

    def give_up(self) -> None:
        """Release the lock."""
        if self._number:
            self._files.touch(f"{_NAME}{self._number}", at=0)
            self._number = 0

    def owned(self) -> bool:
        """Return whether the lock has an owner, by the time of a new file."""
        own = f".owner-{urandom(8).hex()}"
        now = self._files.create(own, self._owner).time
        try:
            last = _highest(self._files.names())
            return last > 0 and not self._is_free(last, own, now)
        finally:
            self._files.remove(own)

    def holder(self) -> str:
        """Return the line of the last owner about itself, "another process" if it cannot be read."""
        with suppress(OSError):
            return self._files.text(f"{_NAME}{_highest(self._files.names())}").strip() or "another process"
        return "another process"

    @contextmanager
    def taken(self) -> Iterator[bool]:
        """Try to hold the lock, with a heartbeat. Yield False if another process owns it or on an OSError."""
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


def _highest(names: list[str]) -> int:
    numbers = (name.removeprefix(_NAME) for name in names if name.startswith(_NAME))
    return max((int(number) for number in numbers if number.isdecimal()), default=0)
