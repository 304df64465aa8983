"""A step of the monitor: what it writes down, what it submits, and that it can be interrupted anywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.errors import Fault, UnreachableError
from paislurm.translator.monitoring import step as stepping
from paislurm.translator.monitoring.attempt import SETTLED_SECONDS
from paislurm.translator.monitoring.decide import Policy
from paislurm.translator.monitoring.journal import append, read
from paislurm.translator.monitoring.records import Cancelled, Ended, Intent, Retry, Submitted

from .jobs import (
    CREATED,
    INTENT,
    NOW,
    SUBMITTED,
    FakeBackend,
    job_folder,
    leave_result,
    observed,
    stepped,
    task,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from paislurm.translator.monitoring.records import Record
    from paislurm.translator.monitoring.store import JobFolder

FAILED = {"outcome": "failed", "code": 255, "behaviour": "unknown", "reason": "worker-0 failed"}
KILLED = {"outcome": "failed", "code": 137, "behaviour": "transient", "reason": "worker-0 was killed"}


def job(path: Path, *records: Record, **policy: Any) -> JobFolder:
    folder = job_folder(path, replace(CREATED, policy=Policy(**policy)), INTENT, *(records or (SUBMITTED,)))
    folder.script(0).write_text("#!/bin/bash\n")
    return folder


def ended(backend: FakeBackend, job_id: str = "7", state: str = "FAILED", **changes: Any) -> None:
    backend.observations[JobId(job_id)] = observed(state, final=True, job_id=job_id, **changes)


def kinds(folder: JobFolder) -> list[str]:
    return [type(record).__name__ for record in read(folder.journal).records][3:]


def test_a_failure_within_its_budget_becomes_a_fresh_attempt_at_once(tmp_path: Path) -> None:
    folder, backend = job(tmp_path, limit=1), FakeBackend()
    leave_result(folder, **FAILED)
    ended(backend)
    view = stepped(folder, backend, NOW)
    assert (view.standing.state, view.history.attempt, view.history.job_id) == ("WAITING", 1, "101")
    (submission,) = backend.submissions
    assert (submission.attempt, submission.tag, submission.exclude) == (1, f"{INTENT.tag}.1", ())
    assert submission.script == folder.script(1)
    assert folder.script(1).read_bytes() == folder.script(0).read_bytes()
    assert kinds(folder) == ["Retry", "Intent", "Submitted"]
    # It fails again, and that was all.
    folder.result(1).write_bytes(folder.result(0).read_bytes())
    ended(backend, "101")
    last = stepped(folder, backend, NOW)
    assert (last.standing.state, last.standing.code, last.standing.ended) == ("FAILED", 255, True)
    assert last.standing.reason == "worker-0 failed; its retry is used up"
    assert [(retry.attempt, retry.code, retry.why) for retry in last.history.retries] == [(0, 255, "retry 1 of 1")]
    assert stepped(folder, backend, NOW).standing == last.standing
    assert len(backend.submissions) == 1


def test_transient_failures_come_to_a_ceiling_that_is_told(tmp_path: Path) -> None:
    folder, backend, now = job(tmp_path, ceiling=2), FakeBackend(), NOW
    leave_result(folder, **KILLED)
    ended(backend)
    for attempt, delay in ((1, 0), (2, 10)):
        waiting = stepped(folder, backend, now)
        if delay:
            assert (waiting.standing.state, waiting.history.job_id) == ("RUNNING", "101")
            assert f"attempt 2 follows in {delay} s" in waiting.standing.reason
            assert stepped(folder, backend, now + delay - 1).history.attempt == 1
            now += delay
            stepped(folder, backend, now)
        folder.result(attempt).write_bytes(folder.result(0).read_bytes())
        ended(backend, f"10{attempt}")
    last = stepped(folder, backend, now)
    assert (last.standing.state, last.standing.code) == ("FAILED", 137)
    assert "which is the most that the site allows" in last.standing.reason
    assert len(backend.submissions) == 2


def test_a_lost_node_is_left_out_and_the_budget_untouched(tmp_path: Path) -> None:
    folder, backend = job(tmp_path, limit=1), FakeBackend()
    ended(backend, state="NODE_FAIL", nodes="n1,n2")
    backend.lost = {"n2", "n9"}
    view = stepped(folder, backend, NOW)
    assert backend.submissions[0].exclude == ("n2",)
    assert (view.history.counters.used, view.history.counters.transient) == (0, 1)


@pytest.mark.parametrize(("spare", "exclude"), [(None, ("n2", "n1")), (1, ("n2",)), (0, ())])
def test_no_more_nodes_are_left_out_than_can_be_spared(
    tmp_path: Path, spare: int | None, exclude: tuple[str, ...]
) -> None:
    folder, backend = job(tmp_path, spare=spare), FakeBackend()
    leave_result(folder, **KILLED | {"code": 223, "tasks": [task(0, code=223, state="FAILED", node="n1"), task(1)]})
    ended(backend)
    stepped(folder, backend, NOW)
    leave_result(folder, **KILLED | {"code": 223, "tasks": [task(0, code=223, state="FAILED", node="n2"), task(1)]})
    folder.result(1).write_bytes(folder.result(0).read_bytes())
    ended(backend, "101")
    stepped(folder, backend, NOW)
    stepped(folder, backend, NOW + 10)
    assert backend.submissions[1].exclude == exclude
    assert folder.history().left_out(NOW + 24 * 3600 + 1) == ()


def test_a_refusal_of_the_exclusion_is_no_refusal_of_the_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, backend = job(tmp_path), FakeBackend()
    ended(backend, state="NODE_FAIL", nodes="n1")
    backend.lost = {"n1"}
    submit = backend.submit

    def picky(submission: Any) -> JobId:
        backend.fails = "refuses" if submission.exclude else ""
        return submit(submission)

    monkeypatch.setattr(backend, "submit", picky)
    assert stepped(folder, backend, NOW).history.job_id == "101"
    assert [submission.exclude for submission in backend.submissions] == [()]


def test_a_fresh_attempt_that_is_refused_is_tried_for_an_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, backend = job(tmp_path, limit=1), FakeBackend()
    leave_result(folder, **FAILED)
    ended(backend)
    submit = backend.submit

    def refuses(submission: Any) -> JobId:
        backend.fails = "refuses"
        try:
            return submit(submission)
        finally:
            backend.fails = ""

    monkeypatch.setattr(backend, "submit", refuses)
    view = stepped(folder, backend, NOW)
    assert (view.standing.ended, view.problem) == (False, "sbatch refuses --qos: no such qos")
    for now in range(NOW + 200, NOW + 3600, 200):
        assert not stepped(folder, backend, now).standing.ended
    last = stepped(folder, backend, NOW + 3800)
    assert (last.standing.state, last.standing.code) == ("FAILED", -200)
    assert "no such qos" in last.standing.reason


def test_no_answer_to_sbatch_is_looked_up_before_a_second_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the controller accepted or not: one attempt, and never a second sbatch before that is certain."""
    folder, backend = job(tmp_path, limit=1), FakeBackend()
    leave_result(folder, **FAILED)
    ended(backend)

    def silent(_: object) -> JobId:
        raise UnreachableError(Fault(code="E502", message="away"))

    monkeypatch.setattr(backend, "submit", silent)
    assert "away" in stepped(folder, backend, NOW).problem
    monkeypatch.undo()
    assert stepped(folder, backend, NOW + SETTLED_SECONDS).standing.state == "WAITING"
    assert not backend.submissions
    backend.fails = "away"
    stepped(folder, backend, NOW + SETTLED_SECONDS + 1)
    backend.fails = ""
    view = stepped(folder, backend, NOW + SETTLED_SECONDS + 1)
    assert (view.history.attempt, view.history.job_id) == (1, "101")
    assert [submission.attempt for submission in backend.submissions] == [1]
    assert [record.attempt for record in read(folder.journal).records if isinstance(record, Intent)] == [0, 1, 1]


class KilledError(BaseException):
    """The end of a process, at a place that a test chooses."""


def killed_at(monkeypatch: pytest.MonkeyPatch, number: int, backend: FakeBackend) -> Callable[[], None]:
    """Let the process die before its effect of this number; return what counts effects."""
    count = 0

    def dying(act: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count == number:
                raise KilledError
            return act(*args, **options)

        return wrapper

    monkeypatch.setattr(stepping, "prepare", dying(stepping.prepare))
    monkeypatch.setattr("paislurm.translator.monitoring.store.append", dying(append))
    monkeypatch.setattr(backend, "submit", dying(backend.submit))

    def check() -> None:
        assert count >= number, "there are not so many effects"

    return check


@pytest.mark.parametrize("number", range(1, 6))
def test_killed_before_any_effect_the_next_step_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    folder, backend = job(tmp_path, limit=1), FakeBackend()
    leave_result(folder, **FAILED)
    ended(backend)
    with monkeypatch.context() as patch:
        check = killed_at(patch, number, backend)
        with pytest.raises(KilledError):
            stepped(folder, backend, NOW)
        check()
    for now in (NOW, NOW + SETTLED_SECONDS + 1, NOW + SETTLED_SECONDS + 2):
        view = stepped(folder, backend, now)
    assert (view.history.attempt, view.history.job_id, view.history.counters.used) == (1, "101", 1)
    assert [submission.tag for submission in backend.submissions] == [f"{INTENT.tag}.1"]


def test_who_is_not_the_owner_any_more_does_nothing(tmp_path: Path) -> None:
    folder, backend = job(tmp_path, limit=1), FakeBackend()
    leave_result(folder, **FAILED)
    ended(backend)
    before = folder.journal.read_bytes()
    view = stepped(folder, backend, NOW, held=lambda: False)
    assert "attempt 1 follows" in view.standing.reason
    assert (folder.journal.read_bytes(), backend.submissions) == (before, [])


@pytest.mark.parametrize("answers", range(1, 5))
def test_an_owner_that_is_replaced_in_the_middle_leaves_off(tmp_path: Path, answers: int) -> None:
    """Two monitors that both take themselves for the owner still submit one attempt."""
    folder, backend = job(tmp_path, limit=1), FakeBackend()
    leave_result(folder, **FAILED)
    ended(backend)
    left = answers

    def held() -> bool:
        nonlocal left
        left -= 1
        if left == 0:
            stepped(folder, backend, NOW)
        return True

    stepped(folder, backend, NOW, held=held)
    for _ in range(3):
        view = stepped(folder, backend, NOW)
    assert [submission.tag for submission in backend.submissions] == [f"{INTENT.tag}.1"]
    assert (view.history.attempt, view.history.counters.used) == (1, 1)


def test_a_job_that_is_cancelled_between_two_attempts_ends(tmp_path: Path) -> None:
    folder, backend = job(tmp_path, ceiling=3), FakeBackend()
    retry = Retry(
        time=NOW, attempt=0, code=251, behaviour="conflict", reason="no room", why="conflict", due=NOW + 500,
        total=1, used=0, transient=1, nodes=(), backend_state="", started=None, ended=None,
    )  # fmt: skip
    append(folder.journal, retry)
    assert stepped(folder, backend, NOW + 499).standing.state == "RUNNING"
    append(folder.journal, Cancelled(time=NOW, attempt=0, user="alice"))
    view = stepped(folder, backend, NOW + 501)
    assert (view.standing.state, view.standing.code, backend.submissions) == ("STOPPED", -210, [])
    assert "cancelled by alice" in view.standing.reason
    assert backend.queries == 0


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_cancel_that_meets_a_fresh_attempt_reaches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    folder, backend = job(tmp_path, limit=1), FakeBackend()
    leave_result(folder, **FAILED)
    ended(backend)
    submit = backend.submit

    def meanwhile(submission: Any) -> JobId:
        job_id = submit(submission) if when == "after" else JobId("")
        append(folder.journal, Cancelled(time=NOW, attempt=0, user="alice", job_id="7"))
        return job_id or submit(submission)

    monkeypatch.setattr(backend, "submit", meanwhile)
    stepped(folder, backend, NOW)
    assert backend.cancelled == ["101"]
    ended(backend, "101", "CANCELLED")
    last = stepped(folder, backend, NOW)
    assert (last.standing.state, last.standing.code, len(backend.submissions)) == ("STOPPED", -210, 1)


def test_a_duplicate_that_was_taken_for_the_attempt_gives_way_to_its_owner(tmp_path: Path) -> None:
    folder, backend = job(tmp_path), FakeBackend(observed("RUNNING", job_id="6"))
    folder.claim(0).parent.mkdir()
    folder.claim(0).write_text("6 0\n")
    ended(backend, status=5)
    stepped(folder, backend, NOW)
    view = stepped(folder, backend, NOW)
    assert (view.history.job_id, view.standing.ended) == ("6", False)
    assert [record.job_id for record in read(folder.journal).records if isinstance(record, Submitted)] == ["7", "6"]


def test_a_journal_that_cannot_be_written_stops_what_would_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, backend = job(tmp_path, limit=1), FakeBackend()
    leave_result(folder, **FAILED)
    ended(backend)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("paislurm.translator.monitoring.store.append", full)
        view = stepped(folder, backend, NOW)
    assert "No space left on device" in view.problem
    assert not backend.submissions
    assert stepped(folder, backend, NOW).history.job_id == "101"


def test_a_requeue_by_hand_is_a_fresh_attempt(tmp_path: Path) -> None:
    folder, backend = job(tmp_path), FakeBackend()
    leave_result(folder, outcome="requeued", code=-100, behaviour="transient", reason="Slurm restarted the job")
    ended(backend, status=3)
    view = stepped(folder, backend, NOW)
    assert (view.history.attempt, view.history.retries[0].code) == (1, -100)


@pytest.mark.parametrize(("canceller", "state"), [("CANCELLED by 0", "WAITING"), ("CANCELLED by 12345", "STOPPED")])
def test_roots_scancel_where_the_site_retries_it(tmp_path: Path, canceller: str, state: str) -> None:
    folder, backend = job(tmp_path, on_root_cancel="retry"), FakeBackend()
    ended(backend, state="CANCELLED", raw_state=canceller)
    assert stepped(folder, backend, NOW).standing.state == state


def test_the_first_word_about_an_end_counts(tmp_path: Path) -> None:
    folder, backend = job(tmp_path, limit=1), FakeBackend()
    leave_result(folder, **FAILED)
    ended(backend)
    stepped(folder, backend, NOW)
    late = Ended(
        time=NOW, attempt=0, state="FAILED", code=255, reason="late", backend_state="", started=None, ended=None,
        completed=0,
    )  # fmt: skip
    append(folder.journal, late)
    known = folder.history()
    assert (known.attempt, known.ended, known.counters.used) == (1, None, 1)
