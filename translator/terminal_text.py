"""Text for a terminal: escaping, excerpts of files, and tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MAY_ACT = re.compile(r"[^\x20-\x7e\n\r\t]+")


def escape_control(text: str) -> str:
    r"""Return the text with control characters escaped, except line breaks: the terminal shows `\x1b[2J` as text."""
    if text.isprintable() or text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def visible(text: str) -> str:
    """Return the text of a file for display: like `escape_control`, but keep tabs and carriage returns."""
    return _MAY_ACT.sub(lambda found: escape_control(found[0]), text)


def one_line(text: str) -> str:
    """Return the text as one line without control characters, for a table cell."""
    return text if text.isprintable() else escape_control(text).replace("\n", "\\n")


WIDTH = 100
BEFORE = 60
"""How many characters of a long line an excerpt shows: in total, and before the column."""
TAB = "    "


def excerpt(source: str, line: int, column: int) -> str:
    r"""Return a line with its number (from 1), and a caret under the column (from 1); "" for a blank line.

    A long line is cut around the column. Tabs become spaces; control characters are escaped.

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
    """Return the width of a text in terminal columns."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(each) else 1 + (east_asian_width(each) in "WF") for each in text)


def columns_text(rows: Sequence[Sequence[str]]) -> str:
    r"""Return a table as lines; each column is as wide as its widest cell.

    >>> columns_text([("ROLE", "TASKS"), ("worker", "2")])
    'ROLE    TASKS\nworker  2'
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows)
    return "\n".join("  ".join(row).rstrip() for row in cells)


def pairs_text(pairs: Iterable[tuple[str, str]]) -> str:
    r"""Return a line for each name with a text, aligned in two columns. Names without a text count for the width.

    >>> pairs_text([("job", "demo"), ("reason", ""), ("time", "1:00:00")])
    'job     demo\ntime    1:00:00'
    """
    rows = list(pairs)
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{name.ljust(width)}  {text}" for name, text in rows if text)
