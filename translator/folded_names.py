"""Names with numbers in them: their order, and many as one text, `n[1-3,7],login`, as Slurm lists nodes. Pure."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_DIGITS = re.compile(r"([0-9]{1,15})")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,15})")


def by_numbers(name: str) -> tuple[str | tuple[int, int, str], ...]:
    """Return what puts names in order: numbers in them count by their size, behind those with zeros in front.

    >>> sorted(["seed10", "seed2", "seed1-b", "seed1-a10", "lr0_1", "lr0_05"], key=by_numbers)
    ['lr0_05', 'lr0_1', 'seed1-a10', 'seed1-b', 'seed2', 'seed10']
    """
    # Every second part is a number, so that a text is never compared with one.
    return tuple(_size(part) if place % 2 else part for place, part in enumerate(_DIGITS.split(name)))


def folded(names: Iterable[str]) -> str:
    """Return each name once, in an order of their own, so that scontrol(1) `show hostnames` would list them.

    >>> folded(["n1", "n2", "login", "n3", "n7"])
    'login,n[1-3,7]'
    >>> folded(["n09", "n10", "n1"])
    'n1,n[09-10]'
    """
    plain: set[str] = set()
    numbers: dict[str, set[str]] = {}
    for name in names:
        found = _NUMBERED.fullmatch(name)
        if found is None:
            plain.add(name)
        else:
            numbers.setdefault(found[1], set()).add(found[2])
    items = [(name, name) for name in plain]
    for prefix, digits in numbers.items():
        items += [(prefix, _item(prefix, width, group)) for width, group in _by_width(digits).items()]
    return ",".join(text for _, text in sorted(items))


def ranges(numbers: Collection[int], width: int = 0) -> str:
    """Return numbers as ranges, with zeros in front to this width.

    >>> ranges({0, 1, 2, 7})
    '0-2,7'
    """
    found = []
    for _, run in groupby(enumerate(sorted(set(numbers))), key=lambda pair: pair[1] - pair[0]):
        values = [value for _, value in run]
        first, last = (str(value).zfill(width) for value in (values[0], values[-1]))
        found.append(first if first == last else f"{first}-{last}")
    return ",".join(found)


def _size(digits: str) -> tuple[int, int, str]:
    """Return what puts numbers in order: `05` and `1` can be 0.05 and 0.1, or 05 and 10 of one width."""
    return (0, 0, digits) if digits[0] == "0" and len(digits) > 1 else (1, int(digits), "")


def _by_width(digits: set[str]) -> dict[int, set[int]]:
    """Return the numbers by the width to which they are filled with zeros, 0 for none."""
    filled = {len(each) for each in digits if each[0] == "0" and len(each) > 1}
    found: dict[int, set[int]] = {}
    for each in digits:
        found.setdefault(len(each) if len(each) in filled else 0, set()).add(int(each))
    return found


def _item(prefix: str, width: int, numbers: set[int]) -> str:
    text = ranges(numbers, width)
    return f"{prefix}[{text}]" if len(numbers) > 1 else prefix + text
