"""A number with what it counts."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return a number with a noun, in the plural where it is not 1.

    >>> counted(1, "node"), counted(2, "node")
    ('1 node', '2 nodes')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def verb(number: int, one: str, more: str) -> str:
    """Return the verb that goes with a number of things.

    >>> verb(1, "is", "are"), verb(2, "is", "are")
    ('is', 'are')
    """
    return one if number == 1 else more
