"""Feature expressions of `--constraint`: which features they name, and whether a node has what they ask for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_NAME = re.compile(r"[^&|()\[\]{},*]+")
_COUNT = re.compile(r"\*\d+")
_WORD = re.compile(r"[&|()]|[^&|()]+")
_OF_SEVERAL_NODES = "[]{}*,"
"""What asks for something of several nodes together, or is Slurm's alone to read."""


def features_of(expression: str) -> list[str]:
    """Return the features that an expression names, each once; counts such as `rack1*2` are none.

    Slurm refuses an expression in which it does not know one, be it an alternative (observed on 22.05, 24.11, 26.05).
    Source: sbatch(1), --constraint.

    >>> features_of("[rack1*2&rack2*4]"), features_of("(a|b)&c")
    (['rack1', 'rack2'], ['a', 'b', 'c'])
    """
    return list(dict.fromkeys(_NAME.findall(_COUNT.sub("", expression))))


def is_satisfied(expression: str, features: Collection[str] | None) -> bool:
    """Tell whether a node with these features is what an expression asks for; where that is not known, it is.

    >>> is_satisfied("(a|b)&c", ["b", "c"]), is_satisfied("a&b", ["a"]), is_satisfied("a&b", None)
    (True, False, True)
    """
    if not expression or features is None or any(mark in expression for mark in _OF_SEVERAL_NODES):
        return True
    words = _WORD.findall(expression)
    found = _value(words, features)
    return found if found is not None and not words else True


def _value(words: list[str], features: Collection[str]) -> bool | None:
    """Take what one pair of parentheses holds off the words, and return its value, None where it has none.

    Slurm reads `&` and `|` beside each other in an order of its own, so that such a mixture has no value here.
    """
    values: list[bool | None] = []
    operators: set[str] = set()
    while words and words[0] != ")":
        word = words.pop(0)
        if word in ("&", "|"):
            operators.add(word)
        elif word == "(":
            values.append(_value(words, features))
            if words:
                words.pop(0)
        else:
            values.append(word in features)
    if operators == {"|"}:
        return True if True in values else None if None in values else False
    if None in values or len(operators) > 1 or not values:
        return None
    return all(values)
