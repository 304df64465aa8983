"""The jobs of a group as a table: a column for each parameter that differs, and how each job stands or ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...times import decimal, elapsed_text, number
from .tables import print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...app.views.line import JobLine


def print_group(rows: Sequence[JobLine], now: int) -> None:
    """Print the jobs of a group."""
    parameters = list(dict.fromkeys(name for row in rows for name in row.sweep))
    results = ["result"] if any(row.result is not None for row in rows) else []
    columns = ("job", *parameters, *results, "state", "elapsed", "code", "id")
    print_table(columns, [_cells(row, parameters, now, with_result=bool(results)) for row in rows])


def _cells(row: JobLine, parameters: Sequence[str], now: int, *, with_result: bool) -> tuple[str, ...]:
    return (
        row.short_name,
        *(row.sweep.get(name, "-") for name in parameters),
        *([decimal(row.result)] if with_result else []),
        row.state,
        elapsed_text(row.elapsed(now)),
        number(row.exit_code),
        row.job_id or "-",
    )
