"""A number with what it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """Return a number with a noun, in the plural where it is not 1.

    >>> counted(1, "node"), counted(2, "node")
    ('1 node', '2 nodes')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def some_of(names: Sequence[str], most: int) -> str:
    """Return at most so many of these names, and how many more there are.

    >>> some_of(["a", "b"], 2), some_of(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 more')
    """
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def verb(number: int, one: str, more: str) -> str:
    """Return the verb that goes with a number of things.

    >>> verb(1, "is", "are"), verb(2, "is", "are")
    ('is', 'are')
    """
    return one if number == 1 else more
