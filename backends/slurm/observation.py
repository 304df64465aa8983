"""Put together what squeue and sacct say of one job: one observation, final only when nothing can change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base import JobId, Observation
from .reasons import is_held
from .states import Phase, phase, precedence

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from .output import Row

MANY = 500
"""Jobs that the accounts are asked for in one query."""

MAX_REASON = 300
"""A reason may name all nodes that are out of order."""


def observed(
    ids: Collection[JobId],
    queue_of: Callable[[Sequence[JobId]], Iterable[Row]],
    accounts_of: Callable[[Sequence[JobId], bool], Iterable[Row] | None],
    components_of: Callable[[JobId], int],
    unaccounted: Callable[[JobId, Observation | None], Observation],
) -> dict[JobId, Observation]:
    """Return what is known of jobs: one query of the queue, one of the accounts for those that ended.

    `accounts_of` is told whether the accounts must answer, because the queue knows nothing of some of its jobs; it
    returns None where the site keeps none. `components_of` is how many components the script of a job has;
    `unaccounted` tells what is known of the end of a job that is in no accounts, by what the queue says of it.
    """
    wanted = sorted(set(ids))
    if not wanted:
        return {}
    queue = by_job(queue_of(wanted))
    ended = [job_id for job_id in wanted if job_id not in queue or has_ended(queue[job_id])]
    accounting: dict[JobId, list[Row]] = {}
    accounted = True
    for first in range(0, len(ended), MANY):
        part = ended[first : first + MANY]
        rows = accounts_of(part, any(job_id not in queue for job_id in part))
        accounted = accounted and rows is not None
        accounting |= by_job(rows or ())
    seen = {
        job_id: observation(
            queue.get(job_id, ()),
            accounting.get(job_id, ()),
            components=1 if job_id in queue or job_id not in accounting else components_of(job_id),
            accounted=accounted,
        )
        for job_id in wanted
    }
    if not accounted:
        seen |= {job_id: unaccounted(job_id, seen[job_id]) for job_id in ended}
    return {job_id: one for job_id, one in seen.items() if one}


def by_job(rows: Iterable[Row]) -> dict[JobId, list[Row]]:
    """Return the rows of each job, its components in order."""
    jobs: dict[JobId, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.offset or 0):
        jobs.setdefault(row.leader, []).append(row)
    return jobs


def has_ended(rows: Sequence[Row]) -> bool:
    """Tell whether every row is an ending; a word that is not known counts as none."""
    return all(phase(row.state) is Phase.ENDED for row in rows)


def observation(
    queue: Sequence[Row], accounting: Sequence[Row], *, components: int, accounted: bool
) -> Observation | None:
    """Return what is known of a job, None when neither squeue nor sacct has a row of it.

    `components`: how many the job has at least; `accounted`: whether the site keeps accounts at all. The
    queue is believed while anything lives. Then the accounts, once they have all components: right after the
    end of a short heterogeneous job, 22.05 gives for up to two seconds one row without a component number,
    and newer ones PENDING. While they lag, the observation is not final.
    """
    if queue and not has_ended(queue):
        return _from_row(_liveliest(queue), queue, final=False)
    if accounting and has_ended(accounting) and _is_complete(accounting, max(components, len(queue))):
        return _from_row(_cause(accounting), accounting, final=True)
    if queue:
        return _from_row(_cause(queue), queue, final=not accounted)
    if accounting:
        return _from_row(_liveliest(accounting), accounting, final=False)
    return None


def _is_complete(rows: Sequence[Row], components: int) -> bool:
    """Tell whether there is an ended row, with its end, of every component."""
    if any(row.ended is None for row in rows):
        return False
    if components == 1:
        return len(rows) == 1 or {row.offset for row in rows} >= set(range(len(rows)))
    return {row.offset for row in rows} >= set(range(components))


def _liveliest(rows: Sequence[Row]) -> Row:
    """Return the row that says how far a job is: one that runs, else one that waits, else the first."""
    for wanted in (Phase.RUNNING, Phase.PENDING, Phase.UNKNOWN):
        for row in rows:
            if phase(row.state) is wanted:
                return row
    return rows[0]


def _cause(rows: Sequence[Row]) -> Row:
    """Return the row whose ending explains those of the others."""
    return min(rows, key=lambda row: precedence(row.state))


def _from_row(row: Row, rows: Sequence[Row], *, final: bool) -> Observation:
    """State and reason are those of `row`; the exit status is the batch script's, which is in component 0.

    Of a job that never had a node, Slurm gives as start the expected one, or its end when it was cancelled.
    """
    leader = rows[0]
    ends = [other.ended for other in rows if other.ended is not None]
    ended = phase(row.state) is Phase.ENDED
    reasons = tuple(other.reason[:MAX_REASON] if phase(other.state) is Phase.PENDING else "" for other in rows)
    # A heterogeneous job without a reason waits for another scheduler than a plain one: how many components tells.
    has_reasons = any(reasons) or (len(rows) > 1 and phase(row.state) is Phase.PENDING)
    return Observation(
        job_id=row.leader,
        state=row.state,
        raw_state=row.raw_state,
        final=final,
        status=leader.status if ended else None,
        signal=leader.signal if ended else None,
        reason=row.reason or next(filter(None, reasons), ""),
        reasons=reasons if has_reasons else (),
        nodes=",".join(other.nodes for other in rows if other.nodes),
        submitted=leader.submitted,
        started=leader.started if leader.nodes else None,
        ended=max(ends) if ended and ends else None,
        expected_start=_expected_start(row, rows),
    )


def _expected_start(row: Row, rows: Sequence[Row]) -> int | None:
    """Return when Slurm expects to start a job of which nothing runs: all of its components, or it says nothing.

    Of one that is held it keeps what it said before, or the time of --begin. Source: observed on 24.11.
    """
    if any(is_held(other.reason) for other in rows):
        return None
    starts = [other.started for other in rows if not other.nodes and phase(other.state) is Phase.PENDING]
    known = [start for start in starts if start is not None]
    return max(known) if phase(row.state) is Phase.PENDING and known and len(known) == len(rows) else None
