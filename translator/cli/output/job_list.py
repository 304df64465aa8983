"""The output of `list`: a table of jobs, or a sweep with its parameters."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from ...errors import did_you_mean
from ...folded_names import by_numbers
from ...plural import counted, verb
from ...terminal_text import one_line
from ...times import by_size, format_time
from ...view.line import Listing, waiting_here
from .console import is_terminal, log, print_json
from .job_table import COLUMNS, DEFAULT_COLUMNS, PARAMETER, WATCH_COLUMNS, cells, column, needs_run, sorted_lines
from .several import print_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...app.session import Session
    from ...view.line import JobLine


ON_A_TERMINAL = 30
"""Most jobs on a terminal by default."""


class Table(NamedTuple):
    """The options of a table: its columns, the column to sort by, and the most rows (0: all)."""

    columns: str | None
    by: str | None
    limit: int | None


def print_jobs(
    session: Session, lines: Sequence[JobLine], table: Table, *, group: str | None = None, as_json: bool
) -> None:
    """Print jobs, the newest first or sorted; on a terminal, limit their number and width.

    The jobs of a group come in the order of their parameters, which are columns by default.
    """
    order = _named([table.by.removeprefix("-")]) if table.by is not None else ()
    now, on_terminal = session.now(), is_terminal(sys.stdout) and not as_json
    if group is not None:
        # By the values of the sweep's parameters, numbers by size.
        lines = sorted(
            session.jobs.with_run(lines),
            key=lambda line: ([by_size(value) for value in line.sweep.values()], by_numbers(line.name)),
        )
    shown = _named(table.columns.split(",")) if table.columns else _default(lines) if group else DEFAULT_COLUMNS
    if needs_run(order) and group is None:
        lines = session.jobs.with_run(lines)
    if "size" in order:
        lines = session.jobs.with_sizes(lines)
    if table.by is not None:
        lines = sorted_lines(lines, table.by, now)
    most = table.limit if table.limit is not None else ON_A_TERMINAL if on_terminal and group is None else 0
    chosen, rest = (lines[:most], lines[most:]) if most else (lines, [])
    if group is None and (as_json or needs_run(shown)):
        chosen = session.jobs.with_run(chosen)
    if "size" in shown:
        chosen = session.jobs.with_sizes(chosen)
    waits = waiting_here(lines) if group is not None else ""
    if as_json:
        print_json(Listing(jobs=tuple(chosen), group=group, waiting_here=waits or None))
    elif chosen:
        print_lines(session.jobs.with_typed_names(chosen), shown, now, fit=is_terminal(sys.stdout))
        if waits:
            log(one_line(waits))
    if rest:
        living = sum(not line.ended for line in rest)
        which = f" ({living} unfinished)" if living else ""
        more = f"{len(rest)} more of {counted(len(lines), 'job')} {verb(len(rest), 'is', 'are')} not shown{which}"
        log(f"{more}; --limit 0 shows all")


def _default(lines: Sequence[JobLine]) -> tuple[str, ...]:
    """Return the columns of a sweep: its parameters, a result if there is one, and how its jobs stand."""
    parameters = dict.fromkeys(f"{PARAMETER}{name}" for line in lines for name in line.sweep)
    results = ["result"] if any(line.result is not None for line in lines) else []
    return ("name", *parameters, *results, "state", "elapsed", "code", "id")


def _named(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns; raise UsageError for an unknown one."""
    for name in names:
        if column(name) is None:
            hint = did_you_mean(name, COLUMNS)
            message = f"unknown column {name!r}{f' ({hint})' if hint else ''}; columns are {', '.join(COLUMNS)}"
            raise click.UsageError(f"{message}, and param.NAME for a parameter of the job file")
    return tuple(names)


def change_text(line: JobLine, now: int) -> str:
    """Return the state of a job in one line."""
    words = " ".join(cells([line], WATCH_COLUMNS[:5], now)[0])
    why = "; ".join(filter(None, (line.reason, line.advice and f"advice: {line.advice}")))
    return one_line(f"{format_time(now)}  {words}" + (f"  {why}" if why else ""))


def log_nothing_left() -> None:
    """Log that there is no job to watch."""
    log("you have no unfinished jobs")
