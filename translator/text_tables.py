"""Aligned text: rows of cells, and names with their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


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
