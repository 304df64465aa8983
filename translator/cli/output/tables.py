"""Tables: aligned text for programs and files, with colours on a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ...terminal_text import one_line
from ...text_tables import columns_text
from .console import colourful, print_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

COLOURS = {
    "SUCCEEDED": "green",
    "FAILED": "red",
    "STOPPED": "yellow",
    "STOPPING": "yellow",
    "RUNNING": "cyan",
    "UNKNOWN": "magenta",
}
Row = tuple[str, ...]


def print_table(columns: Row, rows: Sequence[Row]) -> None:
    """Print a table. What is in the cells comes from anywhere, and acts on nothing."""
    safe = [tuple(one_line(cell) for cell in row) for row in rows]
    if sys.stdout is not None and colourful(sys.stdout):
        _print_rich(columns, safe)
    else:
        print_result(columns_text([columns, *safe]))


def terminal_width() -> int:
    """Return how many characters a line of the terminal has; $COLUMNS says another number."""
    from shutil import get_terminal_size

    return get_terminal_size().columns


def _print_rich(columns: Row, rows: Sequence[Row]) -> None:
    from rich.console import Console

    Console().print(rich_table(columns, rows))


def rich_table(columns: Row, rows: Sequence[Row]) -> Table:
    """Return a table with colours; what is in the cells acts on nothing."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(cell), style=COLOURS.get(cell, "")) for cell in row))
    return table
