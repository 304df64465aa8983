"""How an attempt stands -> how its job does: its end, or the retry that it leads to, as records. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..state.records import Ended, Retry, Seen
from .job_status import Standing, state_of
from .retry import STOPPED, Again, Ending, decide
from .waits import is_news

if TYPE_CHECKING:
    from ..state.history import History
    from ..state.records import Record
    from .job_status import Facts


def outcome(facts: Facts, standing: Standing, *, completed: int) -> tuple[Standing, tuple[Record, ...]]:
    """Return how the job stands whose last attempt stands so, and what is new about it."""
    known = facts.history
    if not standing.ended or standing.code is None:
        return standing, _seen(facts)
    row = facts.table.describe(standing.code)
    ending = Ending(code=row.code, behaviour=row.behaviour, canceller=facts.canceller)
    decision = decide(ending, known.counters, known.policy, known.tag)
    if isinstance(decision, Again):
        retry = _retry(facts, standing, ending, decision)
        if known.cancelled is None:
            return waiting(retry, facts.now), (retry,)
        standing = _cancelled(known.cancelled.user, retry)
    elif decision.why:
        standing = Standing(
            state=standing.state, code=standing.code, reason=f"{standing.reason}; {decision.why}", ended=True
        )
    return standing, (_end(facts, standing, completed),)


def between_attempts(known: History, retry: Retry, now: int) -> tuple[Standing, tuple[Record, ...]]:
    """Return how a job stands whose next attempt is due, or was until somebody cancelled it."""
    if known.cancelled is None:
        return waiting(retry, now), ()
    standing = _cancelled(known.cancelled.user, retry)
    return standing, (given_up(known, now, STOPPED, standing.reason),)


def given_up(known: History, now: int, code: int, reason: str) -> Ended:
    """Return an end that nobody but the user or this program has decided."""
    return Ended(
        time=now,
        attempt=known.attempt,
        state=state_of(code),
        code=code,
        reason=reason,
        backend_state=known.retry.backend_state if known.retry else "",
        started=known.retry.started if known.retry else None,
        ended=now,
        completed=0,
    )


def waiting(retry: Retry, now: int) -> Standing:
    """Return how a job stands between two attempts. Source: OpenPAI job states, AttemptCompleted."""
    wait = f" in {retry.due - now} s" if retry.due > now else ""
    reason = f"{attempt_text(retry)}; attempt {retry.attempt + 1} follows{wait} ({retry.why})"
    return Standing(state="RUNNING", code=None, reason=reason, ended=False)


def attempt_text(retry: Retry) -> str:
    """Say in words how an attempt ended."""
    return f"attempt {retry.attempt} ended with {retry.code}: {retry.reason}"


def _cancelled(user: str, retry: Retry) -> Standing:
    reason = f"cancelled by {user} before another attempt; {attempt_text(retry)}"
    return Standing(state=state_of(STOPPED), code=STOPPED, reason=reason, ended=True)


def _seen(facts: Facts) -> tuple[Record, ...]:
    known, seen = facts.history, facts.observation
    if seen is None or not is_news(known, seen, facts.now):
        return ()
    return (Seen(time=facts.now, attempt=known.attempt, state=seen.state, reason=seen.reason, reasons=seen.reasons),)


def _times(facts: Facts) -> tuple[int | None, int]:
    """Return when the attempt started and ended, by its script or else by the backend."""
    seen, result = facts.observation, facts.result
    started = (result.started if result else None) or (seen.started if seen else None)
    return started, (result.ended if result else None) or (seen.ended if seen else None) or facts.now


def _backend_state(facts: Facts) -> str:
    seen = facts.observation
    return seen.raw_state if seen is not None and seen.final else ""


def _retry(facts: Facts, standing: Standing, ending: Ending, decision: Again) -> Retry:
    started, ended = _times(facts)
    return Retry(
        time=facts.now,
        attempt=facts.history.attempt,
        code=ending.code,
        behaviour=ending.behaviour,
        reason=standing.reason,
        why=decision.why,
        due=facts.now + decision.delay,
        total=decision.counters.total,
        used=decision.counters.used,
        transient=decision.counters.transient,
        nodes=_blamed(facts, ending.code),
        backend_state=_backend_state(facts),
        started=started,
        ended=ended,
    )


def _blamed(facts: Facts, code: int) -> tuple[str, ...]:
    """Return the nodes on which tasks failed with this code, where it is the node's fault, or the job did not begin."""
    if facts.unbegun is not None:
        return facts.unbegun.nodes
    if facts.result is None or not facts.table.describe(code).leaves_node:
        return ()
    nodes = (task.node for task in facts.result.tasks if task.state == "FAILED" and task.code == code)
    return tuple(dict.fromkeys(node for node in nodes if node))


def _end(facts: Facts, standing: Standing, completed: int) -> Ended:
    started, ended = _times(facts)
    return Ended(
        time=facts.now,
        attempt=facts.history.attempt,
        state=standing.state,
        code=standing.code,
        reason=standing.reason,
        backend_state=_backend_state(facts),
        started=started,
        ended=ended,
        completed=completed,
    )
