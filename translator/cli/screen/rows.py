"""The rows of the page of all jobs: one for each job or group. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from .tasks import URGENCY, counts_of, filtered, urgent_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...app.views.line import JobLine
    from .state import State

GROUP = "group "
"""The prefix of a group's row; no job's name contains a blank."""


def fitting(jobs: Iterable[JobLine], state: State) -> list[JobLine]:
    """Return the jobs that match the filter, in the open group if any."""
    return [job for job in filtered(jobs, state.words) if state.group in ("", job.group or "")]


def rows_of(jobs: Iterable[JobLine]) -> list[JobLine]:
    """Return the rows for jobs, the most urgent first. If all belong to one group, each gets a row."""
    groups: dict[str | None, list[JobLine]] = {}
    for job in jobs:
        groups.setdefault(job.group, []).append(job)
    rows: list[JobLine] = []
    for name, members in groups.items():
        rows += [_group(name, members)] if name and len(members) > 1 and len(groups) > 1 else members
    return urgent_first(rows)


def _group(name: str, jobs: Sequence[JobLine]) -> JobLine:
    """Return a line for a group, with its jobs in place of tasks."""
    urgent = min(jobs, key=lambda job: URGENCY[job.state])
    return replace(
        max(jobs, key=lambda job: job.begun_at),
        name=GROUP + name,
        state=urgent.state,
        exit_code=None,
        job_id=None,
        completed=sum(job.ended for job in jobs),
        task_count=len(jobs),
        ended=all(job.ended for job in jobs),
        reason=", ".join(f"{count} {state.lower()}" for state, count in counts_of(jobs)),
        advice=None,
        started_at=None,
        time_limit=None,
    )
