"""Shrink the choices of a failing history: the simplest choices that still break the same invariant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .history import play
from .scenarios import begin as begin_any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .history import Begin

MAX_REPLAYS = 3000


def kind(violation: str) -> str:
    """Return what a violation says, without names and numbers."""
    return re.sub(r"\b(?:root~\S+|paislurm-\S+|\d+|[A-Z]+)\b", "", violation)


def shrink(choices: list[int], violation: str, begin: Begin = begin_any) -> list[int]:
    """Return simpler choices: fewer that are not 0, and smaller ones."""
    left = MAX_REPLAYS

    def fails(candidate: list[int]) -> bool:
        nonlocal left
        left -= 1
        return left > 0 and kind(play(given=candidate, begin=begin).violation) == kind(violation)

    best = _cut(choices, fails)
    size = len(best)
    while size:
        best = _without_blocks(best, size, fails)
        size //= 2
    for position, value in enumerate(best):
        if value > 1 and fails([*best[:position], 1, *best[position + 1 :]]):
            best[position] = 1
    return _cut(best, fails)


def _cut(choices: list[int], fails: Callable[[list[int]], bool]) -> list[int]:
    """Return the shortest start that still fails: 0 follows it."""
    low, high = 0, len(choices)
    while low < high:
        middle = (low + high) // 2
        if fails(choices[:middle]):
            high = middle
        else:
            low = middle + 1
    return choices[:high]


def _without_blocks(choices: list[int], size: int, fails: Callable[[list[int]], bool]) -> list[int]:
    best = choices
    for start in range(0, len(best), size):
        zeros = [*best[:start], *[0] * len(best[start : start + size]), *best[start + size :]]
        if any(best[start : start + size]) and fails(zeros):
            best = zeros
    return best
