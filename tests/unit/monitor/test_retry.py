"""Whether a job is retried: a table from the reference, and a model that was written from it alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from paislurm.translator.exit_codes.table import ExitTable, exit_codes
from paislurm.translator.monitor.retry import Again, Ending, Over, back_off, conflict_delay, decide
from paislurm.translator.state.records import Counters, Policy

TABLE = ExitTable()


def ending(code: int, canceller: str = "") -> Ending:
    return Ending(code=code, behaviour=TABLE.describe(code).behaviour, canceller=canceller)


def attempts(code: int, policy: Policy) -> tuple[int, Counters]:
    """Return how often a job is run that always ends the same, and the counters at its end."""
    counters, runs = Counters(), 1
    while isinstance(decision := decide(ending(code), counters, policy, f"t.{runs}"), Again):
        counters, runs = decision.counters, runs + 1
        assert runs < 100
    return runs, counters


@pytest.mark.parametrize(
    ("code", "policy", "runs", "used"),
    [
        (0, Policy(limit=5), 1, 0),
        (255, Policy(), 1, 0),
        (255, Policy(limit=2), 3, 2),
        (128, Policy(limit=1), 2, 1),
        (137, Policy(limit=2), 11, 0),
        (137, Policy(ceiling=0), 1, 0),
        (-1001, Policy(ceiling=3), 4, 0),
        (251, Policy(ceiling=2), 3, 0),
        (-1200, Policy(limit=9), 1, 0),
        (220, Policy(limit=9), 1, 0),
        (-1004, Policy(limit=9), 1, 0),
        (-1004, Policy(on_timeout="retry", ceiling=4), 5, 0),
        (-210, Policy(limit=9), 1, 0),
        (-220, Policy(limit=-1), 1, 0),
        (-230, Policy(limit=-2, restart_limit=5), 1, 0),
        (0, Policy(limit=-1), 1, 0),
        (0, Policy(limit=-2, restart_limit=5), 6, 5),
        (-1200, Policy(limit=-2, restart_limit=5), 6, 5),
        (137, Policy(limit=-2, restart_limit=5, ceiling=1), 6, 5),
        (0, Policy(limit=-2), 1, 0),
        (99, Policy(limit=1), 2, 1),
        (-77, Policy(limit=1), 2, 1),
    ],
)
def test_how_often_a_job_runs(code: int, policy: Policy, runs: int, used: int) -> None:
    counted, counters = attempts(code, policy)
    assert (counted, counters.used, counters.total) == (runs, used, runs - 1)


def test_every_failure_is_retried_without_an_end() -> None:
    decision = decide(ending(255), Counters(total=90, used=90), Policy(limit=-1), "t")
    assert isinstance(decision, Again)


def test_budgets_are_not_touched_by_transient_failures() -> None:
    decision = decide(ending(-1003), Counters(total=3, used=1, transient=2), Policy(limit=1), "t")
    assert isinstance(decision, Again)
    assert decision.counters == Counters(total=4, used=1, transient=3)
    assert isinstance(decide(ending(255), decision.counters, Policy(limit=1), "t"), Over)


@pytest.mark.parametrize(
    ("policy", "again"), [(Policy(on_root_cancel="stop"), False), (Policy(on_root_cancel="retry"), True)]
)
def test_who_cancelled_matters_where_the_site_says_so(policy: Policy, *, again: bool) -> None:
    assert isinstance(decide(ending(-210, "root"), Counters(), policy, "t"), Again) == again
    assert isinstance(decide(ending(-210, "alice"), Counters(), policy, "t"), Over)


def test_the_end_of_patience_is_told() -> None:
    full = decide(ending(137), Counters(transient=10, total=10), Policy(), "t")
    assert full == Over(why="retried 10 times without using up its budget, which is the most that the site allows")
    once = decide(ending(137), Counters(transient=1, total=1), Policy(ceiling=1), "t")
    assert once == Over(why="retried once without using up its budget, which is the most that the site allows")
    never = decide(ending(137), Counters(), Policy(ceiling=0), "t")
    assert never == Over(why="the site allows no retries without using up the budget")
    restarted = decide(ending(0), Counters(total=1), Policy(limit=-2, restart_limit=1), "t")
    assert restarted == Over(why="restarted once, which is the most that the site allows")
    assert decide(ending(0), Counters(), Policy(limit=-2), "t") == Over(why="the site allows no restarts")
    assert decide(ending(255), Counters(used=2), Policy(limit=2), "t") == Over(why="its 2 retries are used up")
    assert decide(ending(255), Counters(), Policy(), "t") == Over()


def test_delays() -> None:
    assert [back_off(n) for n in range(9)] == [0, 10, 20, 40, 80, 160, 320, 600, 600]
    assert back_off(10_000) == 600
    delays = {conflict_delay(f"paislurm-{n}") for n in range(20_000)}
    assert (min(delays), max(delays), len(delays)) == (60, 900, 841)
    assert conflict_delay("a") == conflict_delay("a")


def model(code: int, used: int, transient: int, limit: int, ceiling: int, restarts: int, total: int) -> str:
    """The reference's numbered steps, one after the other, with the two bounds that were added to it."""
    if code in {-210, -220, -230}:
        return "end"
    fancy = limit != -2
    kind = exit_codes()[code].behaviour
    if fancy and code != 0 and kind in {"transient", "conflict"}:
        return "free" if transient < ceiling else "end"
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
    ceiling=some.integers(0, 5),
    restarts=some.integers(0, 12),
)
def test_against_the_model(code: int, used: int, transient: int, limit: int, ceiling: int, restarts: int) -> None:
    before = Counters(total=used + transient, used=used, transient=transient)
    policy = Policy(limit=limit, ceiling=ceiling, restart_limit=restarts)
    wanted = model(code, used, transient, limit, ceiling, restarts, before.total)
    decision = decide(ending(code), before, policy, "t")
    if isinstance(decision, Over):
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
