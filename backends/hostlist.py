"""Expand Slurm's host lists: `n[1-2,07],login` is n1, n2, n07, login. Source: scontrol(1), show hostnames."""

from __future__ import annotations

import itertools
import math
import re

MAX_NAMES = 100_000
"""More than any cluster has: `n[1-999999999]` would take all memory."""
MAX_DIGITS = 15
_PART = re.compile(r"\[([^][]*)\]")


def expand(text: str) -> list[str]:
    """Return the names of a host list in order, repeated ones too; ValueError when it is not one, or too long."""
    found: list[str] = []
    for item in _split(text):
        found += _expand_item(item, MAX_NAMES - len(found))
    return found


def _split(text: str) -> list[str]:
    """Split at the commas outside brackets."""
    items = re.findall(r"(?:\[[^][]*\]|[^][,])+", text)
    if ",".join(items) != text.strip(","):
        raise ValueError(f"invalid host list: {text}")
    return items


def _expand_item(item: str, most: int) -> list[str]:
    pieces = _PART.split(item)
    choices = [_numbers(piece, most) if place % 2 else [piece] for place, piece in enumerate(pieces)]
    if math.prod(map(len, choices)) > most:
        raise ValueError(f"more than {MAX_NAMES} names: {item}")
    return ["".join(words) for words in itertools.product(*choices)]


def _numbers(ranges: str, most: int) -> list[str]:
    """Return the numbers of `1-3,07`, as wide as they are written."""
    found: list[str] = []
    for part in ranges.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"invalid range: {ranges}")
        numbers = range(int(first), int(last if dash else first) + 1)
        if len(first) > MAX_DIGITS or len(last) > MAX_DIGITS or len(found) + len(numbers) > most:
            raise ValueError(f"more than {MAX_NAMES} names: {ranges}")
        found += [str(number).zfill(len(first)) for number in numbers]
    return found
