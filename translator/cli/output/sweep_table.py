"""The jobs of a group as a table: a column for each parameter that differs, and how each job stands or ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...app.jobs.groups import groups, jobs_of_group
from ...app.jobs.listing import lines, with_run
from ...app.jobs.rounds import warn_of_overdue_round
from ...app.views.job import Listing
from ...errors import Diagnostic, NotFoundError, did_you_mean
from ...folded_names import by_numbers
from ...times import by_size, decimal, elapsed_text, number
from .console import log, print_json
from .tables import print_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...app.session import Session
    from ...app.views.job import JobLine
    from ...state.job_folder import JobFolder


def in_order(lines: Iterable[JobLine]) -> list[JobLine]:
    """Return jobs of a sweep by the values of its parameters, numbers by size."""
    return sorted(lines, key=lambda line: ([by_size(value) for value in line.sweep.values()], by_numbers(line.name)))


def folders_of_group(session: Session, group: str) -> list[JobFolder]:
    """Return the user's jobs of a group, by name; `NotFoundError` for no such group."""
    folders = jobs_of_group(session.store, group, user=session.user)
    if not folders:
        message = f"there is no group `{group}` in {session.store.jobs}"
        hint = did_you_mean(group, groups(session.store, user=session.user)) or "`paislurm submit --sweep` makes one"
        raise NotFoundError(Diagnostic(code="E597", message=message, hint=hint))
    return folders


def show_group(session: Session, group: str, states: Sequence[str] = (), *, as_json: bool) -> int:
    """Print the jobs of a group, those in one of these states if any are named; `NotFoundError` for no such group."""
    names = {folder.name for folder in folders_of_group(session, group)}
    found = lines(session, session.store, everything=True, names=names)
    rows = in_order(with_run([line for line in found.lines if not states or line.state in states]))
    if as_json:
        print_json(Listing(jobs=tuple(rows), group=group))
    else:
        parameters = list(dict.fromkeys(name for row in rows for name in row.sweep))
        results = ["result"] if any(row.result is not None for row in rows) else []
        columns = ("job", *parameters, *results, "state", "elapsed", "code", "id")
        now = session.now()
        print_table(columns, [_cells(row, parameters, now, with_result=bool(results)) for row in rows])
    if any(not line.ended for line in found.lines):
        warn_of_overdue_round(session)
    for problem in found.problems:
        log(f"states are those that were known last: {problem}")
    return 0


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
