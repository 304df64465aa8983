"""Derive the job's status, and its end or retry as records, from its last attempt's status. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.base import JobId, Observation
from paislurm.backends.slurm.job_states import FORGOTTEN

from ..exit_codes.codes import PREFLIGHT_FAILED, STOPPED
from ..folded_names import folded
from ..state.changes import policy_at
from ..state.history import MAX_EXCLUDED
from ..state.journal_records import Ended, Observed, Retry
from ..state.result import reported_behaviour
from ..times import format_time
from ..view.reasons import Reason, reason
from ..view.states import state_of
from .explained_waits import is_change
from .facts import folded_nodes
from .grown_request import more_after
from .job_status import LOST_NODES, JobStatus, may_be_lost, tells_all
from .retry import AttemptEnd, RetryAfter, decide_retry

if TYPE_CHECKING:
    from ..state.history import History
    from ..state.journal_records import Record, Refused
    from .facts import View
    from .retry import StopRetrying

MAX_NODE_LIST = 4000

_NOT_EXCLUDED = "no more nodes can be left out, as far as the nodes of the partition are known"


def transition(facts: View, job_status: JobStatus, *, completed: int) -> tuple[JobStatus, tuple[Record, ...]]:
    """Return the job's status, given its last attempt's, and new records."""
    known, code = facts.history, job_status.code
    if not job_status.ended or code is None:
        return job_status, _seen(facts, job_status)
    ending, decision = retry_decision(facts, code)
    if isinstance(decision, RetryAfter):
        retry = _retry(facts, job_status, ending, decision)
        kept = _not_excludable(known, retry)
        if kept and known.cancelled is None and _fails_again(known, retry, kept):
            rule = f"{folded(kept)} failed the preflight again, and {_NOT_EXCLUDED}"
            job_status = JobStatus.end(code, reason("retries are over", end=job_status.why, rule=rule))
            return _recorded(_end(facts, job_status, completed))
        if kept:
            retry = replace(retry, retry_rule=f"{retry.retry_rule}; {folded(kept)} stays: {_NOT_EXCLUDED}")
        if known.cancelled is None:
            return _due(retry, facts.now, ""), (retry,)
        job_status = JobStatus.end(STOPPED, _cancelled(known.cancelled.user, retry))
    elif decision.rule:
        job_status = JobStatus.end(code, reason("retries are over", end=job_status.why, rule=decision.rule))
    return _recorded(_end(facts, job_status, completed))


def _not_excludable(known: History, retry: Retry) -> tuple[str, ...]:
    """Return the bad nodes of an attempt that the next one cannot exclude: too few others are known."""
    spare = known.retry_policy.spare_nodes
    if spare is None or spare >= MAX_EXCLUDED:
        return ()
    excluded = replace(known, retries=(*known.retries, retry)).excluded_nodes(retry.happened_at)
    return tuple(node for node in retry.blamed_nodes if node not in excluded)


def _fails_again(known: History, retry: Retry, nodes: tuple[str, ...]) -> bool:
    """Return whether nodes have failed the preflight of two attempts in a row."""
    last = known.retries[-1] if known.retries else None
    before = last.blamed_nodes if last is not None and last.exit_code == PREFLIGHT_FAILED else ()
    return retry.exit_code == PREFLIGHT_FAILED and bool({*before} & {*nodes})


def _recorded(end: Ended) -> tuple[JobStatus, tuple[Record, ...]]:
    return JobStatus.recorded(end), (end,)


def retry_decision(facts: View, code: int) -> tuple[AttemptEnd, RetryAfter | StopRetrying]:
    """Return the end of the last attempt with this exit code, and the decision about a retry.

    Users see the end in a complete result before it is recorded. So a change of the retry limit does not count that
    comes after it, from a process that has read the job before.
    """
    known, result = facts.history, facts.result
    row = facts.table.describe(code, reported_behaviour(result, code))
    ending = AttemptEnd(code=row.code, behaviour=row.behaviour, canceller=facts.canceller)
    seen_at = result.ended_at if result is not None and tells_all(result) else None
    policy = known.retry_policy if seen_at is None else policy_at(known, seen_at)
    return ending, decide_retry(ending, known.counters, policy, known.tag, more_after(known, ending.code, result))


def between_attempts(known: History, retry: Retry, now: int) -> tuple[JobStatus, tuple[Record, ...]]:
    """Return the status of a job with a due attempt, and its end if a user cancelled it."""
    if known.cancelled is None:
        return _due(retry, now, held_text(known)), ()
    return stopped(known, now, _cancelled(known.cancelled.user, retry))


def while_refused(known: History, refused: Refused, now: int) -> tuple[JobStatus, tuple[Record, ...]]:
    """Return the status of a job whose attempt was refused, and its end if a user cancelled it."""
    if known.cancelled is None:
        again = "for an hour" if refused.reached else f"until {known.backend_label} accepts it"
        refusal, held = refused.reason, held_text(known)
        why = reason("an attempt was refused", attempt=known.attempt, refusal=refusal, again=again, held=held)
        return JobStatus.so_far("WAITING", why), ()
    user = known.cancelled.user
    why = reason("cancelled after a refusal", user=user, attempt=known.attempt, refusal=refused.reason)
    return stopped(known, now, why)


def stopped(known: History, now: int, why: Reason) -> tuple[JobStatus, tuple[Record, ...]]:
    """Return the status of a job that is stopped before its next attempt, and its end."""
    return _recorded(abandoned(known, now, STOPPED, why))


def abandoned(known: History, now: int, code: int, why: Reason) -> Ended:
    """Return an end decided by the user or paislurm, not by the backend."""
    return Ended(
        happened_at=now,
        attempt=known.attempt,
        state=state_of(code),
        exit_code=code,
        reason=str(why),
        backend_state=known.retry.backend_state if known.retry else "",
        started_at=known.retry.started_at if known.retry else None,
        ended_at=now,
        completed=0,
    )


def _due(retry: Retry, now: int, held: str) -> JobStatus:
    """Return the status of a job with a due attempt. Source: OpenPAI job states, AttemptCompleted."""
    when = f"at {format_time(retry.retry_at)}" if retry.retry_at > now else "next"
    values = {"next": retry.attempt + 1, "last": attempt_end(retry), "rule": retry.retry_rule, "held": held}
    return JobStatus.so_far("RUNNING", reason("an attempt is due", when=when, **values))


def held_text(known: History) -> str:
    """Return a note that the next attempt will be submitted as held, "" if it will not."""
    return "; its user holds it when it is submitted" if known.holds_next else ""


def attempt_end(retry: Retry) -> Reason:
    return reason("an attempt ended", attempt=retry.attempt, code=retry.exit_code, reason=retry.reason)


def _cancelled(user: str, retry: Retry) -> Reason:
    return reason("cancelled between attempts", user=user, next=retry.attempt + 1, last=attempt_end(retry))


def _seen(facts: View, job_status: JobStatus) -> tuple[Record, ...]:
    """Return the record of a new state, or of the first poll in which the backend does not know a job."""
    known, seen = facts.history, facts.observation
    # A job that was cut off, or one that may be lost.
    if (
        seen is None
        and facts.backend_reachable
        and job_status.state in ("STOPPING", "UNKNOWN" if facts.claimable else "")
    ):
        seen = Observation(job_id=JobId(known.job_id), state=FORGOTTEN, raw_state=FORGOTTEN, final=False)
    if seen is None or not is_change(known, seen, facts.now):
        return ()
    if known.observed is not None and known.observed.backend_state == FORGOTTEN and may_be_lost(seen):
        # On another login node the attempt cannot be claimed; the time since the loss goes on.
        return ()
    return (
        Observed(
            happened_at=facts.now,
            attempt=known.attempt,
            backend_state=seen.state,
            backend_reason=seen.reason,
            backend_reasons=seen.reasons,
            options=seen.options,
        ),
    )


def _times(facts: View) -> tuple[int | None, int]:
    """Return when the attempt started and ended, according to its script, or else to the backend."""
    seen, result = facts.observation, facts.result
    started = (result.started_at if result else None) or (seen.started if seen else None)
    return started, (result.ended_at if result else None) or (seen.ended if seen else None) or facts.now


def _backend_state(facts: View) -> str:
    seen = facts.observation
    return seen.raw_state if seen is not None and seen.final else ""


def _retry(facts: View, job_status: JobStatus, ending: AttemptEnd, decision: RetryAfter) -> Retry:
    started, ended = _times(facts)
    return Retry(
        happened_at=facts.now,
        attempt=facts.history.attempt,
        exit_code=ending.code,
        behaviour=ending.behaviour,
        reason=job_status.reason,
        retry_rule=decision.rule,
        retry_at=facts.now + decision.delay,
        more=more_after(facts.history, ending.code, facts.result).values,
        retries=decision.counters.total,
        used_retries=decision.counters.used,
        transient_retries=decision.counters.transient,
        blamed_nodes=_blamed(facts, ending.code),
        backend_state=_backend_state(facts),
        started_at=started,
        ended_at=ended,
    )


def _blamed(facts: View, code: int) -> tuple[str, ...]:
    """Return the nodes at fault for tasks that failed with this code, or that could not start the job."""
    if facts.unbegun is not None:
        return facts.unbegun.nodes
    lost = facts.lost if code in LOST_NODES else ()
    if facts.result is None or not facts.table.describe(code).exclude_node:
        return lost
    nodes = (task.node for task in facts.result.tasks if task.state == "FAILED" and task.exit_code == code)
    return tuple(dict.fromkeys(node for node in (*nodes, *lost) if node))


def _end(facts: View, job_status: JobStatus, completed: int) -> Ended:
    started, ended = _times(facts)
    return Ended(
        happened_at=facts.now,
        attempt=facts.history.attempt,
        state=job_status.state,
        exit_code=job_status.code,
        reason=job_status.reason,
        backend_state=_backend_state(facts),
        started_at=started,
        ended_at=ended,
        completed=completed,
        node_list=_node_list(facts),
        blamed_nodes=_blamed(facts, job_status.code) if job_status.code else (),
    )


def _node_list(facts: View) -> str:
    """Return the nodes of the attempt from its tasks, or else the backend; "" if too long for the journal."""
    tasks = facts.result.tasks if facts.result else ()
    found = folded({task.node for task in tasks if task.node})
    found = found or (folded_nodes(facts.observation.nodes) if facts.observation else "")
    return found if len(found) <= MAX_NODE_LIST else ""
