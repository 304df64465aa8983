"""The jobs of a group as a table: a column for each parameter that differs, and how each job stands or ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict

from ...app.jobs.groups import groups, jobs_of_group
from ...app.jobs.logs.result import result_of
from ...app.jobs.refresh import refresh_all
from ...app.jobs.rounds import warn_of_overdue_round
from ...errors import Diagnostic, NotFoundError, did_you_mean
from ...folded_names import by_numbers
from ...monitor.poll import open_job
from ...monitor.status import ended_at, runs_since
from ...times import by_size, decimal, elapsed_seconds, elapsed_text, number
from .console import log, print_json
from .tables import print_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...app.session import Session
    from ...monitor.poll import View
    from ...state.job_folder import JobFolder


class GroupRow(Struct, frozen=True, kw_only=True):
    """Hold a job of a group. `elapsed` are the seconds for which its last attempt ran, None before a task began."""

    name: str
    sweep: Mapping[str, str]
    state: str
    exit_code: int | None
    elapsed: int | None
    job_id: str
    reason: str
    result: float | None

    def as_dict(self) -> dict[str, object]:
        """Return the row for `--json`."""
        return {**asdict(self), "sweep": dict(self.sweep), "job_id": self.job_id or None}


def group_rows(views: Sequence[View], now: int) -> list[GroupRow]:
    """Return a row for each job; by the values of the parameters, numbers by size."""
    rows = [
        GroupRow(
            name=view.folder.name,
            sweep=view.history.sweep,
            state=view.job_status.state,
            exit_code=view.job_status.code,
            elapsed=elapsed_seconds(runs_since(view), ended_at(view), now),
            job_id=view.history.job_id,
            reason=view.job_status.reason,
            result=result_of(view.folder, view.history.attempt, view.history.roles, view.history.run),
        )
        for view in views
    ]
    return sorted(rows, key=lambda row: ([by_size(value) for value in row.sweep.values()], by_numbers(row.name)))


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
    views = refresh_all(session, [open_job(folder) for folder in folders_of_group(session, group)])
    rows = [row for row in group_rows(views, session.now()) if not states or row.state in states]
    if as_json:
        print_json({"group": group, "jobs": [row.as_dict() for row in rows]})
    else:
        parameters = list(dict.fromkeys(name for row in rows for name in row.sweep))
        results = ["result"] if any(row.result is not None for row in rows) else []
        columns = ("job", *parameters, *results, "state", "elapsed", "code", "id")
        print_table(columns, [_cells(session, row, parameters, with_result=bool(results)) for row in rows])
    if any(not view.job_status.ended for view in views):
        warn_of_overdue_round(session)
    for problem in sorted({view.backend_error for view in views} - {""}):
        log(f"states are those that were known last: {problem}")
    return 0


def _cells(session: Session, row: GroupRow, parameters: Sequence[str], *, with_result: bool) -> tuple[str, ...]:
    return (
        row.name.removeprefix(f"{session.user}~"),
        *(row.sweep.get(name, "-") for name in parameters),
        *([decimal(row.result)] if with_result else []),
        row.state,
        elapsed_text(row.elapsed),
        number(row.exit_code),
        row.job_id or "-",
    )
