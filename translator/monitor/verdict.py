"""What has become of a job, decided in one place: the first row of an ordered table whose condition holds. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from paislurm.backends.slurm.job_states import BY_NOBODY, FORGOTTEN, Phase, phase

from ..exit_codes.codes import FOLDER_FULL, FOLDER_NOT_SHARED, JOB_FORGOTTEN, NEVER_TAKEN, NO_CAUSE
from ..view.states import STOP_CODES, State
from .claim import DUPLICATE
from .explained_waits import is_change
from .facts import DOES_NOT_KNOW, Slurm, View
from .job_status import LOST_SECONDS, NEEDS_BACKEND, SCRIPT_ENDED, JobStatus, has_just_ended
from .verdict_reasons import reason_of

NOT_SHARED, NO_ROOM, INTERRUPTED = 6, 7, 3
"""The exit statuses of a batch script that cannot access the job's folder, that could not write to a full file system,
and that was ended from outside. Source: this project's docs, run folder."""
NO_LOG = 53
"""Slurm's signal for a job whose log a node could not open. Source: observed on 22.05."""
QUEUE_LAG, REUSED_SECONDS = 60, 60
"""Seconds until the backend shows a new job, and after which a job has ended that its controller has lost: nodes kill
what the controller does not know."""


class Row(NamedTuple):
    """A row of the verdict: a state for a job that goes on, or the exit code with which it has ended."""

    name: str
    holds: Callable[[View], bool]
    then: State | int | Callable[[View], int]


def _result_code(f: View) -> int:
    return f.result.exit_code if f.result is not None else 0


def _is_complete(f: View) -> bool:
    return f.result is not None and f.result.complete


def _phase(f: View) -> Phase | None:
    if f.observation is None and f.started:
        return Phase.RUNNING
    return phase(f.last_state) if f.last_state else None


def _is_new(f: View) -> bool:
    """A controller without accounts forgets an ended job soon, perhaps at an age at which others are not shown yet."""
    has_begun = f.slurm is not Slurm.ABSENT and f.claimed and f.history.observed is not None
    return f.polled_at - (f.history.submitted or 0) < QUEUE_LAG and not has_begun


def _is_forgotten(f: View) -> bool:
    return f.is_unknown and f.slurm is not Slurm.ABSENT


def _is_cut_and_unknown(f: View) -> bool:
    """Without accounts, a preemption may have cut off the script, as well as a cancel."""
    return f.is_cut and f.slurm in DOES_NOT_KNOW and f.history.cancelled is None


def _is_final(f: View) -> bool:
    """Slurm's report on a job with a result is final; of a job that was cut off, one answer without it is none."""
    if f.slurm not in DOES_NOT_KNOW:
        return f.slurm in (Slurm.OUTSIDE, Slurm.SCRIPT_ENDED)
    return f.backend_reachable and (not f.is_cut or bool(f.seen_end))


def _is_outside(f: View) -> bool:
    return f.slurm is Slurm.OUTSIDE and (f.is_cut or f.result is None) and not _is_unused(f, f.seen.state)


def _is_unused(f: View, state: str) -> bool:
    """Whether the user's job would fail by a limit, but its script never began: a Prolog may have used up the time."""
    blamed = state in f.table.states and state != "CANCELLED" and f.table.states[state][0].type.startswith("user")
    return blamed and not f.claimed and f.result is None


def _ended_itself(f: View) -> bool:
    return f.result is None and f.slurm is Slurm.SCRIPT_ENDED


def _is_recent(f: View) -> bool:
    has_ended = _ended_itself(f) or (f.slurm is Slurm.OUTSIDE and _is_unused(f, f.seen.state))
    return has_ended and has_just_ended(f.seen, f.history, f.now)


def _succeeded(f: View) -> bool:
    return _ended_itself(f) and f.seen.state == "COMPLETED" and not f.seen.status and not f.seen.signal


WAITS_ROW = "it waits in the queue"
TABLE = (
    Row("another job runs the attempt", lambda f: bool(f.runner), "WAITING"),
    # Slurm does not know the job, and there is no result of its own.
    Row(
        "another job has its number, its script never began",
        lambda f: f.is_unknown and f.slurm is Slurm.REUSED and not f.claimed,
        NEVER_TAKEN,
    ),
    Row(
        "another job has its number, its script was ended for that",
        lambda f: f.is_unknown and f.slurm is Slurm.REUSED and _is_complete(f),
        NO_CAUSE,
    ),
    Row(
        "forgotten after a cancel",
        lambda f: _is_forgotten(f) and f.history.cancelled is not None and bool(f.seen_end),
        STOP_CODES[0],
    ),
    Row("forgotten, a cancel takes effect", lambda f: _is_forgotten(f) and f.history.cancelled is not None, "STOPPING"),
    Row(
        "forgotten after an end from outside",
        lambda f: (
            (_is_forgotten(f) or _is_cut_and_unknown(f)) and f.seen_end in f.table.states.keys() - {*SCRIPT_ENDED}
        ),
        # Who cancelled a job on nodes whose script never began is not known: a failed Prolog does it, too.
        lambda f: (
            NEVER_TAKEN
            if _is_unused(f, f.seen_end) or (f.seen_end == "CANCELLED" and not f.claimed)
            else f.table.states[f.seen_end][0].code
        ),
    ),
    Row("it is not shown yet", lambda f: f.is_unknown and _is_new(f), "WAITING"),
    Row(
        "forgotten after its script ended",
        lambda f: _is_forgotten(f) and f.claimed and f.seen_end not in ("", FORGOTTEN),
        JOB_FORGOTTEN,
    ),
    Row(
        "another job has its number, its script had begun",
        lambda f: _is_forgotten(f) and f.slurm is Slurm.REUSED and f.unknown_seconds >= REUSED_SECONDS,
        NO_CAUSE,
    ),
    Row(
        "forgotten for long, its script had begun",
        lambda f: _is_forgotten(f) and f.claimed and f.unknown_seconds >= LOST_SECONDS,
        JOB_FORGOTTEN,
    ),
    Row("forgotten, its script had begun", lambda f: _is_forgotten(f) and f.claimed, "RUNNING"),
    Row("not known, its script may begin or run", lambda f: f.is_unknown and not f.claimable, "UNKNOWN"),
    Row(
        "not known for long, its script never began",
        lambda f: f.is_unknown and f.unknown_seconds >= LOST_SECONDS,
        NEVER_TAKEN,
    ),
    Row("not known, its script has not begun", lambda f: f.is_unknown, "UNKNOWN"),
    # It was ended from outside before the script decided.
    Row("a node could not start it", lambda f: f.unbegun is not None, lambda f: f.unbegun.code if f.unbegun else 0),
    Row(
        "cancelled by nobody while its script ran",
        lambda f: _is_outside(f) and f.seen.raw_state == BY_NOBODY and f.claimed and f.history.cancelled is None,
        NO_CAUSE,
    ),
    Row("ended from outside", _is_outside, lambda f: f.table.states[f.seen.state][0].code),
    Row("cut off by its user's cancel", lambda f: f.is_cut and _is_complete(f) and bool(f.cancelled_by), _result_code),
    # The script's result.
    Row(
        "decided, the lost node is not named yet",
        lambda f: (
            f.result is not None and f.result.exit_code in NEEDS_BACKEND and f.polled_at < (f.result.ended_at or 0)
        ),
        "RUNNING",
    ),
    Row(
        "cut off, and the cause stays unknown",
        lambda f: (
            (f.is_cut and f.slurm is Slurm.SCRIPT_ENDED and f.history.cancelled is None)
            or (_is_cut_and_unknown(f) and bool(f.seen_end))
        ),
        NO_CAUSE,
    ),
    Row(
        "decided", lambda f: f.result is not None and ((_is_complete(f) and not f.is_cut) or _is_final(f)), _result_code
    ),
    Row("decided, tasks are being stopped", lambda f: f.result is not None and not f.is_cut, "RUNNING"),
    Row("cut off after a cancel", lambda f: f.is_cut and f.history.cancelled is not None, "STOPPING"),
    Row("cut off, the cause is not reported yet", lambda f: f.is_cut, "STOPPING"),
    # The script ended without a result.
    Row(
        "the node does not see the folder",
        lambda f: _ended_itself(f) and (f.seen.status == NOT_SHARED or (not f.seen.status and f.seen.signal == NO_LOG)),
        FOLDER_NOT_SHARED,
    ),
    # The script says by its status that it can write no result: none is waited for.
    Row("the folder was full", lambda f: _ended_itself(f) and f.seen.status == NO_ROOM, FOLDER_FULL),
    Row("ended, and it had not begun so far", lambda f: _is_recent(f) and not f.claimed, "WAITING"),
    Row("ended, its result may come", _is_recent, "RUNNING"),
    Row(
        "cancelled before it had a folder",
        lambda f: _ended_itself(f) and f.seen.status == INTERRUPTED and f.history.cancelled is not None,
        STOP_CODES[0],
    ),
    Row("cut off before it had a folder", lambda f: _ended_itself(f) and f.seen.status == INTERRUPTED, NO_CAUSE),
    # A controller that crashes forgets that a job has started. Source: observed on 26.05.
    Row(
        "Slurm started it again while it ran",
        lambda f: _ended_itself(f) and f.seen.status == DUPLICATE and f.claimed,
        NO_CAUSE,
    ),
    # A controller that crashes forgets its latest jobs and reuses their numbers. Source: observed on 22.05 and 26.05.
    Row("a success of a script that never began", lambda f: _succeeded(f) and not f.claimed, NEVER_TAKEN),
    Row(
        "a limit or a signal ended it, and its script never began",
        lambda f: not f.claimed and (_is_unused(f, f.seen.state) or (_ended_itself(f) and bool(f.seen.signal))),
        NEVER_TAKEN,
    ),
    Row("a success without a result", _succeeded, 0),
    Row("a failure without a result", _ended_itself, lambda f: 128 + f.seen.signal if f.seen.signal else 255),
    # It has not ended, by this answer or by the last one.
    Row("not submitted", lambda f: f.observation is None and not f.history.job_id, "WAITING"),
    Row("no answer since the submit", lambda f: _phase(f) is None, "WAITING"),
    Row(
        "no answer, and not known before",
        lambda f: f.observation is None and not f.started and f.last_state == FORGOTTEN,
        "WAITING",
    ),
    Row("being cancelled", lambda f: f.history.cancelled is not None, "STOPPING"),
    Row("back in the queue", lambda f: _phase(f) is Phase.PENDING and f.claimed and f.started, "RUNNING"),
    Row(WAITS_ROW, lambda f: _phase(f) is Phase.PENDING, "WAITING"),
    Row("its tasks are starting", lambda f: _phase(f) is Phase.RUNNING and not f.started, "WAITING"),
    Row("it ends, and its script never began", lambda f: _phase(f) is Phase.ENDED and not f.claimed, "WAITING"),
    Row("it ends, and no task ran", lambda f: _phase(f) is Phase.ENDED and not f.started, "RUNNING"),
    Row("it runs", lambda f: _phase(f) is not Phase.UNKNOWN, "RUNNING"),
    Row("a word of a newer Slurm", lambda _: True, "UNKNOWN"),
)
"""The first row that holds decides. Properties that hold for all facts are in the tests."""


def verdict(facts: View) -> JobStatus:
    """Return the status of a job's last attempt: of a waiting one, with the reasons, and since when they are known."""
    row = decide(facts)
    why = reason_of(row.name, facts)
    then = row.then(facts) if callable(row.then) else row.then
    if isinstance(then, int):
        return JobStatus.end(then, why)
    status, last, seen = JobStatus.so_far(then, why), facts.history.observed, facts.observation
    if row.name != WAITS_ROW or not facts.waits:
        return status
    new = last is None or (seen is not None and is_change(facts.history, seen, facts.now))
    return replace(status, waits=facts.waits, since=facts.now if last is None or new else last.happened_at)


def decide(facts: View) -> Row:
    """Return the first row whose condition holds."""
    return next(row for row in TABLE if row.holds(facts))
