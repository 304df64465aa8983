"""Which ports tasks can be given: none that the system or Slurm hands out by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..profile import PortRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LOWEST, _HIGHEST = 10_000, 65_535
"""Below stand the known services of many programs."""
_FEWEST = 1000


def free_ports(taken: Iterable[tuple[int, int]]) -> PortRange | None:
    """Return the usual range if none of it is taken, else the longest one that is free; None if that is short."""
    usual = PortRange()
    free = list(_between(sorted(taken)))
    if any(first <= usual.first and usual.last <= last for first, last in free):
        return usual
    first, last = max(free, key=lambda each: each[1] - each[0], default=(0, 0))
    return PortRange(first=first, last=last) if last - first >= _FEWEST else None


def _between(taken: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the ranges that are left, in order."""
    first = _LOWEST
    for start, end in (*taken, (_HIGHEST + 1, _HIGHEST + 1)):
        if first < start:
            yield first, min(start - 1, _HIGHEST)
        first = max(first, end + 1)
