"""The checker of histories finds what must not be: each case plants one fault in a history that holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from paislurm.translator.state.journal_records import (
    Cancelled,
    Created,
    Ended,
    Intent,
    JobRole,
    Retry,
    RetryPolicy,
    Submitted,
)
from tests.histories.checker import check
from tests.histories.evidence import Account, Evidence, Line, Told
from tests.histories.people import Operation

BEGAN = 1000
SUBMIT, STATUS = 1, 2


def end(state: str = "SUCCEEDED", attempt: int = 0, at: int = 1010, reason: str = "all tasks have succeeded") -> Ended:
    return Ended(
        happened_at=at, attempt=attempt, state=state, exit_code=0, reason=reason, backend_state="", started_at=None,
        ended_at=at, completed=1,
    )  # fmt: skip


def retry(attempt: int, behaviour: str = "unknown") -> Retry:
    return Retry(
        happened_at=1005, attempt=attempt, exit_code=255, behaviour=behaviour, reason="it failed", retry_rule="",  # type: ignore[arg-type]
        retry_at=1005, retries=1, used_retries=1, transient_retries=0, blamed_nodes=(), backend_state="",
        started_at=None, ended_at=None,
    )  # fmt: skip


def told(number: int, at: float, state: str = "SUCCEEDED", *, ended: bool = True) -> Told:
    seen = Operation(number=number, user="bob", host="login", what="status", argv=[], name="j", began=at, ended=at + 1)
    return Told(seen, "j", BEGAN, ended, state, 0 if ended else None, "7")


def intent(attempt: int, at: int = 1001) -> Intent:
    return Intent(happened_at=at, attempt=attempt, tag=f"tag.{attempt}")


def history() -> Evidence:
    """Return a history of one job that has succeeded, and that its user has seen so."""
    submit = Operation(
        number=SUBMIT, user="bob", host="login", what="submit", argv=[], name="j", began=1000, ended=1002, status=0,
        out='{"job_id": "7"}',
    )  # fmt: skip
    seen = told(STATUS, 1020)
    role = JobRole(name="w", folder="0-w", instances=1)
    policy = RetryPolicy(retry_limit=1, max_transient_retries=1)
    created = Created(happened_at=BEGAN, job="j", user="bob", backend="slurm", roles=(role,), retry_policy=policy)
    submitted = Submitted(
        happened_at=1002, attempt=0, job_id="7", job="j", user="bob", backend="slurm", task_count=1
    )  # fmt: skip
    return Evidence(
        operations=[submit, seen.operation],
        journals={SUBMIT: [created, intent(0), submitted, end()]},
        files={SUBMIT: "journal"},
        ledger=[Line(SUBMIT, 0, "7", 0, "w-0", 0, 1004.0)],
        accounts=[Account("7", "7", "bob", "COMPLETED", "tag.0")],
        told=[seen],
        listed={("bob", "j", BEGAN)},
    )


def test_a_history_that_holds_has_no_violation() -> None:
    assert check(history()).violations == []


def no_journal(found: Evidence) -> None:
    found.journals.clear()
    found.ledger.clear()
    found.accounts.clear()


def other_id(found: Evidence) -> None:
    found.operations[0].out = '{"job_id": "9"}'


def refused_and_ran(found: Evidence) -> None:
    found.operations[0].status = 4


def seen_otherwise(found: Evidence) -> None:
    found.told[0].state = "FAILED"


def no_reason(found: Evidence) -> None:
    found.journals[SUBMIT][-1] = end(reason="")


def stopped_by_nobody(found: Evidence) -> None:
    found.told.clear()
    found.journals[SUBMIT][-1] = end("STOPPED")


def too_often(found: Evidence) -> None:
    found.journals[SUBMIT][3:3] = [retry(0), retry(1)]


def too_often_for_free(found: Evidence) -> None:
    found.journals[SUBMIT][3:3] = [retry(0, "transient"), retry(1, "transient")]


def after_cancel(found: Evidence) -> None:
    cancel = told(3, 1002, "STOPPING", ended=False)
    cancel.operation.what, cancel.operation.status = "cancel", 0
    found.told.append(cancel)
    records = found.journals[SUBMIT]
    records[3:] = [Cancelled(happened_at=1002, attempt=0, user="bob", job_id="7"), intent(1, 1008), end(attempt=1)]
    found.ledger.append(Line(SUBMIT, 1, "8", 0, "w-0", 0, 1009.0))
    found.accounts.append(Account("8", "8", "bob", "COMPLETED", "tag.1"))


@pytest.mark.parametrize(
    ("invariant", "plant"),
    [
        ("twice", lambda found: found.ledger.append(Line(SUBMIT, 0, "8", 0, "w-1", 0, 1004.0))),
        ("twice", lambda found: found.ledger.append(Line(SUBMIT, 0, "7", 1, "w-1", 0, 1004.0))),
        ("twice", lambda found: found.ledger.append(found.ledger[0])),
        ("lost", no_journal),
        ("lost", lambda found: found.listed.clear()),
        ("lost", other_id),
        ("lost", lambda found: found.accounts.append(Account("9", "9", "bob", "COMPLETED", "other"))),
        ("lost", refused_and_ran),
        ("backward", lambda found: found.told.append(told(3, 1030, "RUNNING", ended=False))),
        ("backward", seen_otherwise),
        ("end", lambda found: found.journals[SUBMIT].pop()),
        ("end", no_reason),
        ("end", stopped_by_nobody),
        ("end", lambda found: found.ledger.clear()),
        ("budget", too_often),
        ("budget", too_often_for_free),
        ("after the end", lambda found: found.ledger.append(Line(SUBMIT, 0, "7", 0, "w-1", 0, 1020.0))),
        ("after the cancel", after_cancel),
        ("secret", lambda found: found.secrets.append("/home/bob/file")),
    ],
)
def test_a_planted_fault_is_found(invariant: str, plant: Callable[[Evidence], None]) -> None:
    found = history()
    plant(found)
    assert {violation.invariant for violation in check(found).violations} == {invariant}


@pytest.mark.parametrize(
    ("killed", "holds"),
    [
        ({}, True),
        ({"status": 0}, False),
        ({"status": 6}, False),
        ({"status": 6, "err": "`scancel` timed out; it may or may not have done its work"}, True),
        ({"what": "status"}, False),
        ({"user": "alice"}, False),
        ({"name": "other"}, False),
        ({"began": 900.0, "ended": 901.0}, False),
        ({"began": 1013.0, "ended": 1014.0}, False),
    ],
)
def test_a_cancel_without_an_answer_may_stop_a_job_without_a_record(killed: dict[str, Any], *, holds: bool) -> None:
    """Its scancel goes on, which the journal does not know."""
    found = history()
    stopped_by_nobody(found)
    words = {"what": "cancel", "user": "bob", "name": "j", "status": -9, "began": 1003.0, "ended": 1003.5}
    found.operations.append(Operation(number=3, host="login", argv=[], **words | killed))
    assert (check(found).violations == []) is holds


def test_a_name_that_is_left_is_a_job_without_an_end_or_a_folder_that_slurm_made_again() -> None:
    """Slurm restarts jobs that have ended and were removed, and makes the folder of their log."""
    found = history()
    found.left = ["bob~j UNKNOWN"]
    assert check(found).violations == []
    found.journals[SUBMIT].pop()
    assert "never ended" in {violation.invariant for violation in check(found).violations}
