"""Whether a job is retried: a table from the reference, and a model that was written from it alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from paislurm.translator.exit_codes.table import ExitTable, exit_codes
from paislurm.translator.monitor.retry import (
    AttemptEnd,
    RetryAfter,
    StopRetrying,
    back_off,
    conflict_delay,
    decide_retry,
)
from paislurm.translator.state.journal_records import RetryCounters, RetryPolicy

TABLE = ExitTable()


def ending(code: int, canceller: str = "") -> AttemptEnd:
    return AttemptEnd(code=code, behaviour=TABLE.describe(code).behaviour, canceller=canceller)


def attempts(code: int, policy: RetryPolicy) -> tuple[int, RetryCounters]:
    """Return how often a job is run that always ends the same, and the counters at its end."""
    counters, runs = RetryCounters(), 1
    while isinstance(decision := decide_retry(ending(code), counters, policy, f"t.{runs}"), RetryAfter):
        counters, runs = decision.counters, runs + 1
        assert runs < 100
    return runs, counters


@pytest.mark.parametrize(
    ("code", "policy", "runs", "used"),
    [
        (0, RetryPolicy(retry_limit=5), 1, 0),
        (255, RetryPolicy(), 1, 0),
        (255, RetryPolicy(retry_limit=2), 3, 2),
        (128, RetryPolicy(retry_limit=1), 2, 1),
        (137, RetryPolicy(retry_limit=2), 11, 0),
        (137, RetryPolicy(max_transient_retries=0), 1, 0),
        (-1001, RetryPolicy(max_transient_retries=3), 4, 0),
        (251, RetryPolicy(max_transient_retries=2), 3, 0),
        (-1200, RetryPolicy(retry_limit=9), 1, 0),
        (220, RetryPolicy(retry_limit=9), 1, 0),
        (-1004, RetryPolicy(retry_limit=9), 1, 0),
        (-1004, RetryPolicy(on_timeout="retry", max_transient_retries=4), 5, 0),
        (-210, RetryPolicy(retry_limit=9), 1, 0),
        (-220, RetryPolicy(retry_limit=-1), 1, 0),
        (-1200, RetryPolicy(retry_limit=-1), 1, 0),
        (220, RetryPolicy(retry_limit=-1), 1, 0),
        (-230, RetryPolicy(retry_limit=-2, max_restarts=5), 1, 0),
        (0, RetryPolicy(retry_limit=-1), 1, 0),
        (0, RetryPolicy(retry_limit=-2, max_restarts=5), 6, 5),
        (-1200, RetryPolicy(retry_limit=-2, max_restarts=5), 6, 5),
        (137, RetryPolicy(retry_limit=-2, max_restarts=5, max_transient_retries=1), 6, 5),
        (0, RetryPolicy(retry_limit=-2), 1, 0),
        (99, RetryPolicy(retry_limit=1), 2, 1),
        (-77, RetryPolicy(retry_limit=1), 2, 1),
    ],
)
def test_the_retry_count_limits_the_runs(code: int, policy: RetryPolicy, runs: int, used: int) -> None:
    counted, counters = attempts(code, policy)
    assert (counted, counters.used, counters.total) == (runs, used, runs - 1)


def test_unknown_failures_are_retried_without_a_limit() -> None:
    decision = decide_retry(ending(255), RetryCounters(total=90, used=90), RetryPolicy(retry_limit=-1), "t")
    assert isinstance(decision, RetryAfter)
    assert decision.rule == "retried without a limit (retry count -1)"


def test_budgets_are_not_touched_by_transient_failures() -> None:
    decision = decide_retry(ending(-1003), RetryCounters(total=3, used=1, transient=2), RetryPolicy(retry_limit=1), "t")
    assert isinstance(decision, RetryAfter)
    assert decision.counters == RetryCounters(total=4, used=1, transient=3)
    assert decision.rule == "transient: retried without using the budget, 3 of 10"
    assert isinstance(decide_retry(ending(255), decision.counters, RetryPolicy(retry_limit=1), "t"), StopRetrying)


@pytest.mark.parametrize(
    ("policy", "again"), [(RetryPolicy(on_root_cancel="stop"), False), (RetryPolicy(on_root_cancel="retry"), True)]
)
def test_only_a_root_cancel_is_retried_if_the_site_allows_it(policy: RetryPolicy, *, again: bool) -> None:
    assert isinstance(decide_retry(ending(-210, "root"), RetryCounters(), policy, "t"), RetryAfter) == again
    assert isinstance(decide_retry(ending(-210, "alice"), RetryCounters(), policy, "t"), StopRetrying)


MOST = "the limit of the site (`retry.maxTransientRetries`)"


@pytest.mark.parametrize(
    ("code", "counters", "policy", "rule"),
    [
        (137, {"transient": 10, "total": 10}, {}, f"retried 10 times without using its budget, {MOST}"),
        (137, {"transient": 1, "total": 1}, {"max_transient_retries": 1},
         f"retried once without using its budget, {MOST}"),
        (137, {}, {"max_transient_retries": 0}, "the site allows no retries outside the budget"),
        (0, {"total": 1}, {"retry_limit": -2, "max_restarts": 1}, "restarted once, the limit of the site"),
        (0, {}, {"retry_limit": -2}, "the site allows no restarts"),
        (255, {"used": 2}, {"retry_limit": 2}, "its 2 retries are used up"),
        (255, {}, {}, ""),
    ],
)  # fmt: skip
def test_reaching_a_limit_is_reported(code: int, counters: dict[str, int], policy: dict[str, int], rule: str) -> None:
    decision = decide_retry(ending(code), RetryCounters(**counters), RetryPolicy(**policy), "t")  # type: ignore[arg-type]
    assert decision == StopRetrying(rule=rule)


def test_retry_delays_are_within_their_range() -> None:
    assert [back_off(n) for n in range(9)] == [0, 10, 20, 40, 80, 160, 320, 600, 600]
    assert back_off(10_000) == 600
    delays = {conflict_delay(f"paislurm-{n}") for n in range(20_000)}
    assert (min(delays), max(delays), len(delays)) == (60, 900, 841)
    assert conflict_delay("a") == conflict_delay("a")


def model(
    code: int, used: int, transient: int, limit: int, max_transient_retries: int, restarts: int, total: int
) -> str:
    """The reference's numbered steps, one after the other, with the two bounds that were added to it."""
    if code in {-210, -220, -230}:
        return "end"
    fancy = limit != -2
    kind = exit_codes()[code].behaviour
    if fancy and code != 0 and kind in {"transient", "conflict"}:
        return "free" if transient < max_transient_retries else "end"
    if fancy and code != 0 and kind == "permanent":
        return "end"
    if limit == -2:
        return "paid" if total < restarts else "end"
    if limit == -1 and code != 0:
        return "paid"
    if code != 0 and used < limit:
        return "paid"
    return "end"


@given(
    code=some.sampled_from(sorted(exit_codes())),
    used=some.integers(0, 5),
    transient=some.integers(0, 5),
    limit=some.integers(-2, 5),
    max_transient_retries=some.integers(0, 5),
    restarts=some.integers(0, 12),
)
def test_decisions_match_the_model(
    code: int, used: int, transient: int, limit: int, max_transient_retries: int, restarts: int
) -> None:
    before = RetryCounters(total=used + transient, used=used, transient=transient)
    policy = RetryPolicy(retry_limit=limit, max_transient_retries=max_transient_retries, max_restarts=restarts)
    wanted = model(code, used, transient, limit, max_transient_retries, restarts, before.total)
    decision = decide_retry(ending(code), before, policy, "t")
    if isinstance(decision, StopRetrying):
        assert wanted == "end"
        return
    after = decision.counters
    assert wanted == {(1, 0): "paid", (0, 1): "free"}[after.used - used, after.transient - transient]
    assert after.total == after.used + after.transient
    kind = exit_codes()[code].behaviour
    if kind == "conflict" and limit != -2:
        assert 60 <= decision.delay <= 900
    elif wanted == "paid" and limit >= 0:
        assert decision.delay == 0
    else:
        assert 0 <= decision.delay <= 600
