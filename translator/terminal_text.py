"""Text for a terminal: nothing in it acts there; excerpts of files, and tables. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MAY_ACT = re.compile(r"[^\x20-\x7e\n\r\t]+")


def escape_control(text: str) -> str:
    r"""Return text in which nothing but line breaks acts on a terminal: `\x1b[2J` is shown, not obeyed."""
    if text.isprintable() or text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def visible(text: str) -> str:
    """Return the text of a file as a person can look at it: like `escape_control`, but tabs and progress bars stay."""
    return _MAY_ACT.sub(lambda found: escape_control(found[0]), text)


def one_line(text: str) -> str:
    """Return text that keeps to one line and acts on nothing: for a cell of a table."""
    return text if text.isprintable() else escape_control(text).replace("\n", "\\n")


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


def columns_text(rows: Sequence[Sequence[str]]) -> str:
    r"""Return rows as lines, each column as wide as its widest cell.

    >>> columns_text([("ROLE", "TASKS"), ("worker", "2")])
    'ROLE    TASKS\nworker  2'
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows)
    return "\n".join("  ".join(row).rstrip() for row in cells)


def pairs_text(pairs: Iterable[tuple[str, str]]) -> str:
    r"""Return a line for each name that has a text. Texts begin in one column; names without a text widen it too.

    >>> pairs_text([("job", "demo"), ("reason", ""), ("time", "1:00:00")])
    'job     demo\ntime    1:00:00'
    """
    rows = list(pairs)
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{name.ljust(width)}  {text}" for name, text in rows if text)
