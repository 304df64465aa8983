"""Slurm's job states, and one observation of a job from its rows in squeue and sacct.

Source: sacct(1) and squeue(1), JOB STATE CODES, of Slurm 20.11 to 26.05.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..base import JobId, Observation
from .identity import MAX_COMMAND, shown_tag
from .pending_reasons import is_held

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from .output import Row


class Phase(str, Enum):
    """The phase of a job; UNKNOWN for states that are not in this table."""

    PENDING = "pending"
    RUNNING = "running"
    ENDED = "ended"
    UNKNOWN = "unknown"


STATES: dict[str, tuple[str, Phase]] = {
    "BOOT_FAIL": ("BF", Phase.ENDED),
    "CANCELLED": ("CA", Phase.ENDED),
    "COMPLETED": ("CD", Phase.ENDED),
    "COMPLETING": ("CG", Phase.RUNNING),
    "CONFIGURING": ("CF", Phase.PENDING),
    "DEADLINE": ("DL", Phase.ENDED),
    "EXPEDITING": ("EX", Phase.PENDING),
    "FAILED": ("F", Phase.ENDED),
    "LAUNCH_FAILED": ("LF", Phase.ENDED),
    "NODE_FAIL": ("NF", Phase.ENDED),
    "OUT_OF_MEMORY": ("OOM", Phase.ENDED),
    "PENDING": ("PD", Phase.PENDING),
    "POWER_UP_NODE": ("PU", Phase.PENDING),
    "PREEMPTED": ("PR", Phase.ENDED),
    "RECONFIG_FAIL": ("", Phase.ENDED),
    "REQUEUED": ("RQ", Phase.PENDING),
    "REQUEUE_FED": ("RF", Phase.PENDING),
    "REQUEUE_HOLD": ("RH", Phase.PENDING),
    "RESIZING": ("RS", Phase.RUNNING),
    "RESV_DEL_HOLD": ("RD", Phase.PENDING),
    "REVOKED": ("RV", Phase.ENDED),
    "RUNNING": ("R", Phase.RUNNING),
    "SIGNALING": ("SI", Phase.RUNNING),
    "SPECIAL_EXIT": ("SE", Phase.PENDING),
    "STAGE_OUT": ("SO", Phase.RUNNING),
    "STOPPED": ("ST", Phase.RUNNING),
    "SUSPENDED": ("S", Phase.RUNNING),
    "TIMEOUT": ("TO", Phase.ENDED),
    "UPDATE_DB": ("", Phase.RUNNING),
}
"""Each state with its short form, "" if it has no unique one, and its phase.

COMPLETING counts as running: some node may still have processes. RECONFIG_FAIL shares its short form RF with
REQUEUE_FED.
"""

ALLOCATED: dict[str, str] = {
    "COMPLETING": "the job is ending: Slurm cleans up its nodes",
    "RESIZING": "the job is changing its size",
    "SIGNALING": "Slurm is sending a signal to the job",
    "STAGE_OUT": "Slurm is copying the job's files out of a burst buffer",
    "STOPPED": "the job is stopped by SIGSTOP: it keeps its nodes, and its tasks do not run until SIGCONT",
    "SUSPENDED": "the job is suspended: its tasks do not run until Slurm resumes it",
}
"""What a job with nodes does in a state other than RUNNING. Source: squeue(1), JOB STATE CODES."""

FORGOTTEN = "FORGOTTEN"
"""Not a state of Slurm: the controller has forgotten the job, and no accounts are kept."""

REUSED = "REUSED"
"""The raw state of a forgotten job whose number another job has."""

BY_NOBODY = "CANCELLED by no user"
"""The raw state of a job that Slurm itself cancelled: of other jobs sacct prints the user."""

_LONG = {short: word for word, (short, _) in STATES.items() if short}

CAUSES = (
    "NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED", "RECONFIG_FAIL", "PREEMPTED", "TIMEOUT", "DEADLINE", "REVOKED",
    "CANCELLED", "OUT_OF_MEMORY", "FAILED", "COMPLETED",
)  # fmt: skip
"""Endings in order of precedence: if a node fails, other components may be called FAILED."""


def normalize(raw: str) -> str:
    """Return the state from Slurm's output; unknown words are unchanged.

    `CANCELLED by 1000` is CANCELLED; `OUT_OF_ME+` is cut off by a narrow column; `CA` is a short form.
    """
    word = (raw.split() or [""])[0]
    if word.endswith("+"):
        stem = word[:-1]
        matches = [name for name in STATES if name.startswith(stem)]
        return matches[0] if len(matches) == 1 else stem
    return _LONG.get(word, word)


def slurms_word(state: str) -> str:
    """Return a state of Slurm, "" for a word of paislurm's own, which users do not know."""
    return "" if state in (FORGOTTEN, REUSED) else state


def phase(state: str) -> Phase:
    if state == FORGOTTEN:
        return Phase.ENDED
    return STATES[state][1] if state in STATES else Phase.UNKNOWN


MANY = 500
"""Limit on the jobs in one query of the accounts."""

MAX_REASON = 300
"""Limit in characters: a reason may name all nodes that are out of order."""


def observed(
    ids: Collection[JobId],
    queue_of: Callable[[Sequence[JobId]], Iterable[Row]],
    accounts_of: Callable[[Sequence[JobId], bool], Iterable[Row] | None],
    components_of: Callable[[JobId], int],
    unaccounted: Callable[[JobId, Observation | None], Observation],
) -> dict[JobId, Observation]:
    """Return the observations of jobs, by one query of the queue and one of the accounts for ended jobs.

    The second argument of `accounts_of` tells whether the accounts must answer, because some jobs are not in the
    queue; it returns None if the site keeps no accounts. `components_of` returns the number of components in a job's
    script. `unaccounted` returns the observation of an ended job without accounts, from its observation in the
    queue.
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
    """Group rows by job, with components in order.

    A component also counts as the job of its own number, unless there is one: Slurm may have lost that job.
    """
    jobs: dict[JobId, list[Row]] = {}
    ordered = sorted(rows, key=lambda row: row.offset or 0)
    for row in ordered:
        jobs.setdefault(row.leader, []).append(row)
    for row in ordered:
        if row.offset:
            job_id = _job_id_of_component(row)
            jobs.setdefault(job_id, [replace(row, leader=job_id, offset=None)])
    return {leader: _of_one_job(found) for leader, found in jobs.items()}


def _job_id_of_component(row: Row) -> JobId:
    """Return a component's own job id: Slurm numbers the components from the leader on."""
    number, semicolon, cluster = row.leader.partition(";")
    if not number.isdecimal():
        return row.leader
    return JobId(f"{int(number) + (row.offset or 0)}{semicolon}{cluster}")


def _of_one_job(rows: list[Row]) -> list[Row]:
    """Return the rows of the job that was submitted last.

    The accounts keep the components of a job that a killed controller has lost, and show them beside the row of the
    plain job to which it has given the number. Source: observed on 22.05.
    """
    if len({row.offset is None for row in rows}) == 1:
        return rows
    latest = max(rows, key=lambda row: row.submitted or 0)
    return [row for row in rows if row.name == latest.name]


def has_ended(rows: Sequence[Row]) -> bool:
    """Return whether every row is an ending; an unknown state is not."""
    return all(phase(row.state) is Phase.ENDED for row in rows)


def observation(
    queue: Sequence[Row], accounting: Sequence[Row], *, components: int, accounted: bool
) -> Observation | None:
    """Return the observation of a job, None if neither squeue nor sacct has a row of it.

    `components` is the job's minimum number of components; `accounted` tells whether the site keeps accounts. The
    queue decides while any component is active. Then the accounts decide, once they have all components: for up to
    two seconds after the end of a short heterogeneous job, 22.05 shows one row without a component number, and newer
    versions show PENDING. While the accounts lag, the observation is not final.
    """
    if queue and not has_ended(queue):
        return _from_row(_most_active(queue), queue, final=False)
    if accounting and has_ended(accounting) and _is_complete(accounting, max(components, len(queue))):
        return _from_row(_cause(accounting), accounting, queue, final=True)
    if queue:
        return _from_row(_cause(queue), queue, final=not accounted)
    if accounting:
        return replace(_from_row(_most_active(accounting), accounting, final=False), queued=False)
    return None


def _is_complete(rows: Sequence[Row], components: int) -> bool:
    """Return whether every component has a row with its end."""
    if any(row.ended is None for row in rows):
        return False
    if components == 1:
        return len(rows) == 1 or {row.offset for row in rows} >= set(range(len(rows)))
    return {row.offset for row in rows} >= set(range(components)) or all(map(_never_started, rows))


def _never_started(row: Row) -> bool:
    """Return whether a job was cancelled before it started.

    26.05 never numbers the components of such a heterogeneous job: each has the row of a plain job. Source: observed.
    """
    return row.state == "CANCELLED" and row.started is None and not row.nodes


def _most_active(rows: Sequence[Row]) -> Row:
    """Return the row of the furthest component: a running one, else a pending one, else the first."""
    for wanted in (Phase.RUNNING, Phase.PENDING, Phase.UNKNOWN):
        for row in rows:
            if phase(row.state) is wanted:
                return row
    return rows[0]


def _cause(rows: Sequence[Row]) -> Row:
    """Return the row whose ending explains the others."""
    return min(rows, key=lambda row: CAUSES.index(row.state) if row.state in CAUSES else len(CAUSES))


def _from_row(row: Row, rows: Sequence[Row], queue: Sequence[Row] = (), *, final: bool) -> Observation:
    """Take state and reason from `row`, and the exit status from component 0, which runs the batch script.

    Tag and command line are those of `queue` if it still shows them.

    For a job that never had a node, Slurm's start time is the expected one, or the end if it was cancelled.
    """
    leader = rows[0]
    ends = [other.ended for other in rows if other.ended is not None]
    ended = phase(row.state) is Phase.ENDED
    reasons = tuple(other.reason[:MAX_REASON] if phase(other.state) is Phase.PENDING else "" for other in rows)
    # A heterogeneous job without a reason waits for backfill; the number of reasons distinguishes it from a plain job.
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
        name=leader.name,
        tag=next(filter(None, (shown_tag(each.comment, each.command) for each in (*queue, *rows))), ""),
        command=next((each.command[-MAX_COMMAND:] for each in (*queue, *rows) if each.command), ""),
        options=_options_of(queue or rows),
    )


def _options_of(rows: Sequence[Row]) -> dict[str, str]:
    """Return the options of a job: those of component 0, and the partitions of all."""
    partitions = dict.fromkeys(name for row in rows for name in row.options.get("partition", "").split(",") if name)
    return {**rows[0].options, **({"partition": ",".join(partitions)} if partitions else {})}


def _expected_start(row: Row, rows: Sequence[Row]) -> int | None:
    """Return the expected start of a job with no running component, if Slurm has one for all components.

    For a held job, Slurm keeps an old estimate or the time of --begin. Source: observed on 24.11.
    """
    if any(is_held(other.reason) for other in rows):
        return None
    starts = [other.started for other in rows if not other.nodes and phase(other.state) is Phase.PENDING]
    known = [start for start in starts if start is not None]
    return max(known) if phase(row.state) is Phase.PENDING and known and len(known) == len(rows) else None
