"""The rows of the page of all jobs: a job each, or a group of jobs that were submitted together. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from .tasks import URGENCY, counts_of, filtered, urgent_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...app.jobs.listing import Line
    from .state import State

GROUP = "group "
"""How the name of a row begins that is a group: no job's name has a blank."""


def fitting(jobs: Iterable[Line], state: State) -> list[Line]:
    """Return the jobs that fit the filter, of the open group if one is."""
    return [job for job in filtered(jobs, state.words) if state.group in ("", job.group)]


def rows_of(jobs: Iterable[Line]) -> list[Line]:
    """Return the rows for jobs, the most urgent first. Where all are of one group, each has a row."""
    groups: dict[str, list[Line]] = {}
    for job in jobs:
        groups.setdefault(job.group, []).append(job)
    rows: list[Line] = []
    for name, members in groups.items():
        rows += [_group(name, members)] if name and len(members) > 1 and len(groups) > 1 else members
    return urgent_first(rows)


def _group(name: str, jobs: Sequence[Line]) -> Line:
    """Return a group as if it were a job, whose tasks are its jobs."""
    urgent = min(jobs, key=lambda job: URGENCY[job.state])
    return replace(
        max(jobs, key=lambda job: job.begun_at),
        name=GROUP + name,
        state=urgent.state,
        exit_code=None,
        job_id="",
        completed=sum(job.ended for job in jobs),
        task_count=len(jobs),
        ended=all(job.ended for job in jobs),
        reason=", ".join(f"{count} {state.lower()}" for state, count in counts_of(jobs)),
        advice="",
        started_at=None,
        time_limit=None,
    )
