"""Where the characters of a text are after parts of it were replaced, and where those of the new text came from."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Replaced = tuple[int, int, int]
"""A part that was replaced: where it began and ended, and how long the text in its place is."""


class Moves:
    """Follow characters through one pass over a text; `replaced` are its parts in their order."""

    def __init__(self, replaced: Sequence[Replaced]) -> None:
        self._replaced = replaced
        self._starts = [start for start, _, _ in replaced]
        self._shifts = list(accumulate((length - (end - start) for start, end, length in replaced), initial=0))
        self._new_starts = [start + shift for start, shift in zip(self._starts, self._shifts, strict=False)]

    def forward(self, offset: int) -> int | None:
        """Return where a character of the old text is now; None where it was replaced, but for the first one."""
        number = bisect_left(self._starts, offset)
        if number and offset < self._replaced[number - 1][1]:
            return None
        return offset + self._shifts[number]

    def back(self, offset: int) -> int:
        """Return where a character of the new text was; of one that was put in, where the part in its place began."""
        number = bisect_right(self._new_starts, offset)
        if number and offset < self._new_starts[number - 1] + self._replaced[number - 1][2]:
            return self._starts[number - 1]
        return offset - self._shifts[number]
