"""The choices that make a history: from a seed, or from a list of numbers."""

from __future__ import annotations

from itertools import accumulate
from math import log
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

STALLS = (40, 100, 200)
"""Seconds for which a process may stand still: shorter and longer than a lock without a heartbeat lasts."""
INTERRUPTIONS = (0, 0.03, 0.01, 0.0008, *[0.0008] * len(STALLS))
"""How likely each is before an effect: nothing, another process goes on, a new one starts, a kill, the stalls."""
OTHER, NEW, KILL = 1, 2, 3
NEVER = 1 << 62
_EACH_STEP = sum(INTERRUPTIONS)
_LOG_NOTHING = log(1 - _EACH_STEP)


class Choices:
    """Numbers from a seed, or from a list: 0, the simplest choice, follows its last one.

    Nearly all steps of processes choose 0, nothing: `quiet_until` is the position of the first choice that may differ.
    """

    def __init__(self, seed: int = 0, given: Sequence[int] | None = None) -> None:
        self._random = Random(seed).random
        self._given = given
        self._made: dict[int, int] = {}
        self.position = 0
        self.quiet_until = 0
        self._find_next()

    @property
    def made(self) -> list[int]:
        """All choices until now."""
        made = [0] * self.position
        for position, value in self._made.items():
            made[position] = value
        return made

    def choose(self, count: int, chance: float = 1.0) -> int:
        """Return 0 to `count` - 1: with `chance` any of them, else 0."""
        position = self.position
        self.position += 1
        if self._given is None:
            self.quiet_until += 1
            if chance < 1.0 and self._random() >= chance:
                return 0
            value = int(self._random() * count)
        else:
            value = self._given[position] % count if position < len(self._given) else 0
            if position == self.quiet_until:
                self._find_next()
        if value:
            self._made[position] = value
        return value

    def interruption(self) -> int:
        """Return what happens to a process before its effect: 0 for nothing, else an index of INTERRUPTIONS."""
        position = self.position
        self.position += 1
        if position < self.quiet_until:
            return 0
        if self._given is None:
            left = self._random() * _EACH_STEP
            value = next(index for index, end in enumerate(accumulate(INTERRUPTIONS)) if left < end)
        else:
            value = self._given[position] % len(INTERRUPTIONS)
        self._find_next()
        self._made[position] = value
        return value

    def _find_next(self) -> None:
        if self._given is None:
            self.quiet_until = self.position + int(log(1 - self._random()) / _LOG_NOTHING)
            return
        length = len(self._given)
        self.quiet_until = next((each for each in range(self.position, length) if self._given[each]), NEVER)
