"""A step of the monitor that is killed, replaced, met by a cancel, or left without an answer: nothing runs twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.errors import Diagnostic, UnreachableError
from paislurm.translator.monitor import reconcile as stepping
from paislurm.translator.monitor.attempt import SETTLED_SECONDS
from paislurm.translator.monitor.poll import open_job
from paislurm.translator.state.journal import append, read
from paislurm.translator.state.journal_records import Cancelled, Intent, Retry, Submitted

from .jobs import INTENT, NOW, FakeBackend, dependencies, ended, failed_job, job, kinds, observed, stepped


def test_an_unanswered_sbatch_is_looked_up_before_a_new_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the controller accepted or not: one attempt, and never a second sbatch before that is certain."""
    folder, backend = failed_job(tmp_path)

    def silent(_: object) -> JobId:
        raise UnreachableError(Diagnostic(code="E502", message="away"))

    monkeypatch.setattr(backend, "submit", silent)
    assert "away" in stepped(folder, backend, NOW).backend_error
    monkeypatch.undo()
    assert stepped(folder, backend, NOW + SETTLED_SECONDS).job_status.state == "WAITING"
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
    monkeypatch.setattr("paislurm.translator.state.job_folder.append", dying(append))
    monkeypatch.setattr(backend, "submit", dying(backend.submit))

    def check() -> None:
        assert count >= number, "there are not so many effects"

    return check


@pytest.mark.parametrize("number", range(1, 6))
def test_after_a_kill_before_any_effect_the_next_step_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    folder, backend = failed_job(tmp_path)
    with monkeypatch.context() as patch:
        check = killed_at(patch, number, backend)
        with pytest.raises(KilledError):
            stepped(folder, backend, NOW)
        check()
    for now in (NOW, NOW + SETTLED_SECONDS + 1, NOW + SETTLED_SECONDS + 2):
        view = stepped(folder, backend, now)
    assert (view.history.attempt, view.history.job_id, view.history.counters.used) == (1, "101", 1)
    assert [submission.tag for submission in backend.submissions] == [f"{INTENT.tag}.1"]


def test_a_process_that_lost_the_lock_does_nothing(tmp_path: Path) -> None:
    folder, backend = failed_job(tmp_path)
    before = folder.journal.read_bytes()
    view = stepped(folder, backend, NOW, held=lambda: False)
    assert "waiting for attempt 2, which is " in view.job_status.reason
    assert (folder.journal.read_bytes(), backend.submissions) == (before, [])


@pytest.mark.parametrize("answers", range(1, 6))
def test_a_process_that_loses_the_lock_stops_midway(tmp_path: Path, answers: int) -> None:
    """Two monitors that both take themselves for the owner still submit one attempt."""
    folder, backend = failed_job(tmp_path)
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


def test_a_process_that_has_lost_the_lock_after_its_intent_submits_nothing(tmp_path: Path) -> None:
    folder, backend = failed_job(tmp_path)
    stepped(folder, backend, NOW, held=lambda: "Intent" not in kinds(folder))
    assert (backend.submissions, kinds(folder).count("Intent")) == ([], 1)
    stepped(folder, backend, NOW + SETTLED_SECONDS + 1)
    assert [submission.tag for submission in backend.submissions] == [f"{INTENT.tag}.1"]


def test_an_accepted_attempt_is_recorded_if_the_lock_is_lost_while_slurm_answers(tmp_path: Path) -> None:
    """The clock is the lock's file, which another process then has removed."""
    folder, backend = failed_job(tmp_path)

    def clock() -> int:
        if backend.submissions:
            raise FileNotFoundError
        return NOW

    stepping.reconcile([open_job(folder)], dependencies(backend, clock))
    known = open_job(folder).history
    assert (known.attempt, known.job_id) == (1, "101")


@pytest.mark.parametrize("event", ["the lock is lost", "the job is cancelled"])
def test_no_retry_is_submitted_if_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str) -> None:
    """The copy of the script may take long, so the lock and the journal are read again after it."""
    folder, backend = failed_job(tmp_path)
    holds_lock, make_copy = True, stepping.prepare

    def prepare(*args: Any) -> None:
        nonlocal holds_lock
        make_copy(*args)
        if event == "the lock is lost":
            holds_lock = False
        else:
            append(folder.journal, Cancelled(happened_at=NOW, attempt=0, user="alice"))

    monkeypatch.setattr(stepping, "prepare", prepare)
    stepped(folder, backend, NOW, held=lambda: holds_lock)
    assert (backend.submissions, kinds(folder).count("Intent")) == ([], 0)


def test_a_job_that_is_cancelled_between_two_attempts_ends(tmp_path: Path) -> None:
    folder, backend = job(tmp_path, max_transient_retries=3), FakeBackend()
    retry = Retry(
        happened_at=NOW, attempt=0, exit_code=251, behaviour="conflict", reason="no room", retry_rule="conflict",
        retry_at=NOW + 500, retries=1, used_retries=0, transient_retries=1, blamed_nodes=(), backend_state="",
        started_at=None, ended_at=None,
    )  # fmt: skip
    append(folder.journal, retry)
    assert stepped(folder, backend, NOW + 499).job_status.state == "RUNNING"
    append(folder.journal, Cancelled(happened_at=NOW, attempt=0, user="alice"))
    view = stepped(folder, backend, NOW + 501)
    assert (view.job_status.state, view.job_status.code, backend.submissions) == ("STOPPED", -210, [])
    assert "cancelled by alice" in view.job_status.reason
    assert backend.queries == 0


def test_a_cancelled_job_whose_submit_was_killed_has_reached_slurm_even_if_slurm_has_forgotten_it(
    tmp_path: Path,
) -> None:
    folder = job(tmp_path, INTENT, Cancelled(happened_at=NOW, attempt=0, user="alice", job_id="8"))
    view = stepped(folder, FakeBackend(), NOW + SETTLED_SECONDS + 1)
    assert (view.history.job_id, "never reached" in view.job_status.reason) == ("8", False)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_cancel_during_a_new_attempt_cancels_that_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    folder, backend = failed_job(tmp_path)
    submit = backend.submit

    def meanwhile(submission: Any) -> JobId:
        job_id = submit(submission) if when == "after" else JobId("")
        append(folder.journal, Cancelled(happened_at=NOW, attempt=0, user="alice", job_id="7"))
        return job_id or submit(submission)

    monkeypatch.setattr(backend, "submit", meanwhile)
    stepped(folder, backend, NOW)
    assert backend.cancelled == ["101"]
    ended(backend, "101", "CANCELLED")
    last = stepped(folder, backend, NOW)
    assert (last.job_status.state, last.job_status.code, len(backend.submissions)) == ("STOPPED", -210, 1)


def test_a_duplicate_job_is_replaced_by_the_job_that_owns_the_claim(tmp_path: Path) -> None:
    folder, backend = job(tmp_path), FakeBackend(observed("RUNNING", job_id="6"))
    folder.claim(0).parent.mkdir()
    folder.claim(0).write_text("6 0\n")
    ended(backend, status=5)
    stepped(folder, backend, NOW)
    view = stepped(folder, backend, NOW)
    assert (view.history.job_id, view.job_status.ended) == ("6", False)
    assert [record.job_id for record in read(folder.journal).records if isinstance(record, Submitted)] == ["7", "6"]


def test_an_unwritable_journal_stops_further_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, backend = failed_job(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("paislurm.translator.state.job_folder.append", full)
        view = stepped(folder, backend, NOW)
    assert "No space left on device" in view.backend_error
    assert not backend.submissions
    assert stepped(folder, backend, NOW).history.job_id == "101"
