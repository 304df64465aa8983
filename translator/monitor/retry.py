"""How an attempt ended, what went before, and the job's policy -> whether there is another attempt, and when. Pure.

Source: OpenPAI retry policy ("fancy" retry). Bounds and back-off are this program's own: a batch system is shared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from ..job import FOR_EVER
from ..state.records import Counters, Policy

if TYPE_CHECKING:
    from ..exit_codes.table import Behaviour

STOPS = (-210, -220, -230)
"""Codes of attempts that somebody stopped. Source: OpenPAI exit specification."""
STOPPED, DEADLINE = -210, -1004
EVERY_FAILURE = -1
"""The retry count of a job whose every failure is retried. Source: PAI protocol v1, retryCount."""
SHORTEST_CONFLICT, LONGEST_CONFLICT = 60, 900
"""Seconds. Source: OpenPAI frameworkcontroller, FrameworkMinRetryDelaySecForTransientConflictFailed and Max."""
FIRST_BACK_OFF, LONGEST_BACK_OFF = 10, 600
ROOT = "root"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Say how an attempt ended: OpenPAI's code, how that code is retried, and who cancelled it, if somebody did."""

    code: int
    behaviour: Behaviour
    canceller: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Say that there is to be another attempt, after `delay` seconds; `counters` are those that it begins with."""

    delay: int
    counters: Counters
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """Say that there is no other attempt; `why` is "" where nothing is to be said of it."""

    why: str = ""


def decide(ending: Ending, counters: Counters, policy: Policy, tag: str) -> Again | Over:
    """Return what an attempt's end leads to. `tag` names the attempt: who asks twice is told the same."""
    behaviour = _behaviour(ending, policy)
    if ending.code in STOPS and behaviour == "permanent":
        return Over()
    if ending.code != 0 and policy.limit != FOR_EVER:
        if behaviour in ("transient", "conflict"):
            return _unaccountable(ending, behaviour, counters, policy, tag)
        if behaviour == "permanent":
            return Over(why="such a failure is not retried" if policy.limit else "")
    return _accountable(ending, counters, policy)


def _behaviour(ending: Ending, policy: Policy) -> Behaviour:
    """Return how the end is retried, where the job or the site has a word in it."""
    if ending.code == DEADLINE and policy.on_timeout == "retry":
        return "transient"
    if ending.code == STOPPED:
        by_root = ending.canceller == ROOT and policy.on_root_cancel == "retry"
        return "transient" if by_root else "permanent"
    return "permanent" if ending.code in STOPS else ending.behaviour


def _unaccountable(ending: Ending, behaviour: Behaviour, counters: Counters, policy: Policy, tag: str) -> Again | Over:
    if counters.transient >= policy.ceiling:
        if not policy.ceiling:
            return Over(why="the site allows no retries without using up the budget")
        times = _times(policy.ceiling)
        return Over(why=f"retried {times} without using up its budget, which is the most that the site allows")
    counted = replace(counters, total=counters.total + 1, transient=counters.transient + 1)
    if behaviour == "conflict":
        return Again(delay=conflict_delay(tag), counters=counted, why="conflict: retried after a random delay")
    if ending.code == DEADLINE:
        return Again(delay=0, counters=counted, why="retried because the job asks for it (`onTimeout`)")
    return Again(
        delay=back_off(counters.transient), counters=counted, why="transient: retried without using up a retry"
    )


def _accountable(ending: Ending, counters: Counters, policy: Policy) -> Again | Over:
    counted = replace(counters, total=counters.total + 1, used=counters.used + 1)
    if policy.limit == FOR_EVER:
        if counters.total >= policy.restart_limit:
            if not counters.total:
                return Over(why="the site allows no restarts")
            return Over(why=f"restarted {_times(counters.total)}, which is the most that the site allows")
        return Again(delay=back_off(counters.used), counters=counted, why="restarted for ever (retry count -2)")
    if ending.code == 0:
        return Over()
    if policy.limit == EVERY_FAILURE:
        return Again(delay=back_off(counters.used), counters=counted, why="every failure is retried (retry count -1)")
    if counters.used < policy.limit:
        return Again(delay=0, counters=counted, why=f"retry {counted.used} of {policy.limit}")
    if policy.limit:
        return Over(why=f"its {'retry is' if policy.limit == 1 else f'{policy.limit} retries are'} used up")
    return Over()


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def back_off(before: int) -> int:
    """Return the delay in seconds after `before` retries of the same kind: none, then longer each time."""
    return min(LONGEST_BACK_OFF, FIRST_BACK_OFF << min(before - 1, 10)) if before else 0


def conflict_delay(tag: str) -> int:
    """Return a number of seconds that looks random and is the same for the same tag."""
    span = LONGEST_CONFLICT - SHORTEST_CONFLICT + 1
    return SHORTEST_CONFLICT + int.from_bytes(sha256(tag.encode()).digest()[:8], "big") % span
