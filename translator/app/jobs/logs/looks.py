"""Say which of many logs to look at now: thousands are quiet most of the time."""

from __future__ import annotations

from heapq import heappop, heappush

FEW = 200
"""So many logs are all looked at each time."""
A_TIME = 500
"""Of more logs so many at a time, those first that have waited longest."""
SHORTEST, LONGEST = 0.5, 10.0
"""Seconds between two looks at the same log: twice as long each time that it has nothing new."""


class Looks:
    """Keep for each of `count` logs when it is looked at next; times are those of a clock that never goes back.

    `total` is how many there are with those of other jobs that are looked at too.
    """

    def __init__(self, count: int, total: int = 0) -> None:
        self._few = max(count, total) <= FEW
        self._count = count
        self._times: dict[int, float] = {}
        self._pauses: dict[int, float] = {}
        self._queue: list[tuple[float, int]] = []

    def wake(self, number: int, now: float) -> None:
        """Look at a log the next time: it has another file."""
        self._put(number, now, 0.0)

    def due(self, now: float) -> list[int]:
        """Return the logs to look at now, in order."""
        if self._few:
            return list(range(self._count))
        found: set[int] = set()
        while self._queue and len(found) < A_TIME and self._queue[0][0] <= now:
            time, number = heappop(self._queue)
            if self._times.get(number) == time:
                found.add(number)
        return sorted(found)

    def looked(self, number: int, now: float, *, has_news: bool) -> None:
        """Remember that a log was looked at: soon again where it grows, later where it is quiet."""
        if not self._few:
            pause = 0.0 if has_news else min(LONGEST, max(SHORTEST, 2 * self._pauses.get(number, 0.0)))
            self._put(number, now + pause, pause)

    def _put(self, number: int, time: float, pause: float) -> None:
        self._times[number], self._pauses[number] = time, pause
        heappush(self._queue, (time, number))
