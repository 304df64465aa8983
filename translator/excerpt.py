"""A line of a source file with a mark under a column, as compilers show where something is wrong. Pure."""

from __future__ import annotations

WIDTH = 100
BEFORE = 60
"""Characters of a long line that are shown: in all, and before the column."""
TAB = "    "


def excerpt(source: str, line: int, column: int) -> str:
    r"""Return a line with its number (from 1), and below it a caret under the column (from 1); "" for a blank line.

    A long line is cut around the column. Tabs are widened; what would act on a terminal is escaped.

    >>> excerpt("gpu: -1", 7, 6)
    '  7 | gpu: -1\n    |      ^'
    """
    if not source.strip():
        return ""
    at = min(max(column - 1, 0), len(source))
    first = max(0, min(at - BEFORE, len(source) - WIDTH))
    last = first + WIDTH
    left = ("…" if first else "") + "".join(map(_shown, source[first:at]))
    right = "".join(map(_shown, source[at:last])) + ("…" if last < len(source) else "")
    number = f"{line:>3}"
    return f"{number} | {left}{right}\n{' ' * len(number)} | {' ' * _width(left)}^"


def _shown(character: str) -> str:
    if character == "\t":
        return TAB
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(each) else 1 + (east_asian_width(each) in "WF") for each in text)
