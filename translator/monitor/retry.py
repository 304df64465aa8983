"""Decide whether another attempt follows, and when, from an attempt's end, earlier retries and the policy. Pure.

Source: OpenPAI retry policy ("fancy" retry). Limits and back-off are paislurm's own, since a batch system is shared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from msgspec import Struct, field
from msgspec.structs import replace

from ..exit_codes.codes import DEADLINE, STOPPED, TASK_STOPPED
from ..job import RESTART_ALWAYS
from ..state.journal_records import RetryCounters, RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..exit_codes.table import Behaviour

STOPS = (STOPPED, TASK_STOPPED, -230)
"""Codes of attempts that were stopped. Source: OpenPAI exit specification."""
WITHOUT_LIMIT = -1
"""The retry count of a job whose unknown failures are retried without limit. Source: OpenPAI retry policy."""
MIN_CONFLICT, MAX_CONFLICT = 60, 900
"""Seconds. Source: OpenPAI frameworkcontroller, FrameworkMinRetryDelaySecForTransientConflictFailed and Max."""
FIRST_BACK_OFF, MAX_BACK_OFF = 10, 600
ROOT = "root"
NEVER_RETRIED = "such a failure is not retried"


class AttemptEnd(Struct, frozen=True, kw_only=True):
    """The end of an attempt: OpenPAI's code, its retry behaviour, and the user who cancelled it, or ""."""

    code: int
    behaviour: Behaviour
    canceller: str = ""


class RetryAfter(Struct, frozen=True, kw_only=True):
    """Retry after `delay` seconds; `counters` include the retry."""

    delay: int
    counters: RetryCounters
    rule: str


class More(Struct, frozen=True, kw_only=True):
    """What the next attempt requests more of, as text by name, or the reason why a lack leads to no larger request.

    `rule` describes either; it is "" if the job requests no more after this end.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    rule: str = ""


NO_MORE = More()


class StopRetrying(Struct, frozen=True, kw_only=True):
    """Do not retry; `rule` explains why, "" if no explanation is needed."""

    rule: str = ""


def decide_retry(
    ending: AttemptEnd, counters: RetryCounters, policy: RetryPolicy, tag: str, more: More = NO_MORE
) -> RetryAfter | StopRetrying:
    """Return the decision after an attempt's end. For the same `tag`, the attempt's, it is always the same.

    An attempt that requests `more` follows without using the budget.
    """
    decision = _decided(ending, counters, policy, tag, more)
    if more.rule and more.rule not in decision.rule:
        return replace(decision, rule="; ".join(filter(None, (decision.rule, more.rule))))
    return decision


def _decided(
    ending: AttemptEnd, counters: RetryCounters, policy: RetryPolicy, tag: str, more: More
) -> RetryAfter | StopRetrying:
    behaviour = "transient" if more.values else _behaviour(ending, policy)
    if ending.code in STOPS and behaviour == "permanent":
        return StopRetrying()
    if ending.code != 0 and policy.retry_limit != RESTART_ALWAYS:
        if behaviour in ("transient", "conflict"):
            return _uncounted_retry(ending, behaviour, counters, policy, tag, more)
        if behaviour == "permanent":
            return StopRetrying(rule=NEVER_RETRIED if policy.retry_limit else "")
    return _counted_retry(ending, counters, policy)


def _behaviour(ending: AttemptEnd, policy: RetryPolicy) -> Behaviour:
    """Return the retry behaviour of an end, including the choices of job and site."""
    if ending.code == DEADLINE and policy.on_timeout == "retry":
        return "transient"
    if ending.code == STOPPED:
        by_root = ending.canceller == ROOT and policy.on_root_cancel == "retry"
        return "transient" if by_root else "permanent"
    return "permanent" if ending.code in STOPS else ending.behaviour


def _uncounted_retry(
    ending: AttemptEnd, behaviour: Behaviour, counters: RetryCounters, policy: RetryPolicy, tag: str, more: More
) -> RetryAfter | StopRetrying:
    if counters.transient >= policy.max_transient_retries:
        if not policy.max_transient_retries:
            return StopRetrying(rule="the site allows no retries outside the budget")
        times = _times(policy.max_transient_retries)
        limit = "the limit of the site (`retry.maxTransientRetries`)"
        return StopRetrying(rule=f"retried {times} without using its budget, {limit}")
    counted = replace(counters, total=counters.total + 1, transient=counters.transient + 1)
    if more.values:
        return RetryAfter(delay=0, counters=counted, rule=more.rule)
    if behaviour == "conflict":
        delay, rule = conflict_delay(tag), "conflict: retried after a random delay"
    elif ending.code == DEADLINE:
        delay, rule = 0, "retried because the job sets `onTimeout`"
    else:
        delay, rule = back_off(counters.transient), "transient: retried without using the budget"
    times = f"{counted.transient} of {policy.max_transient_retries}"
    return RetryAfter(delay=delay, counters=counted, rule=f"{rule}, {times}")


def _counted_retry(ending: AttemptEnd, counters: RetryCounters, policy: RetryPolicy) -> RetryAfter | StopRetrying:
    counted = replace(counters, total=counters.total + 1, used=counters.used + 1)
    if policy.retry_limit == RESTART_ALWAYS:
        if counters.total >= policy.max_restarts:
            if not counters.total:
                return StopRetrying(rule="the site allows no restarts")
            return StopRetrying(rule=f"restarted {_times(counters.total)}, the limit of the site")
        return RetryAfter(
            delay=back_off(counters.used), counters=counted, rule="restarted after any end (retry count -2)"
        )
    if ending.code == 0:
        return StopRetrying()
    if policy.retry_limit == WITHOUT_LIMIT:
        return RetryAfter(
            delay=back_off(counters.used), counters=counted, rule="retried without a limit (retry count -1)"
        )
    if counters.used < policy.retry_limit:
        return RetryAfter(delay=0, counters=counted, rule=f"retry {counted.used} of {policy.retry_limit}")
    if policy.retry_limit:
        return StopRetrying(
            rule=f"its {'retry is' if policy.retry_limit == 1 else f'{policy.retry_limit} retries are'} used up"
        )
    return StopRetrying()


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def back_off(before: int) -> int:
    """Return the delay in seconds after `before` retries of the same kind: 0, then growing."""
    return min(MAX_BACK_OFF, FIRST_BACK_OFF << min(before - 1, 10)) if before else 0


def conflict_delay(tag: str) -> int:
    """Return a pseudo-random delay in seconds, the same for the same tag."""
    span = MAX_CONFLICT - MIN_CONFLICT + 1
    return MIN_CONFLICT + crc32(tag.encode()) % span
