"""What users are told of a job that is retried: between two attempts, while they wait, and when they cancel it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.app.jobs import waiting
from paislurm.translator.app.session import Session, user_name
from paislurm.translator.files.lock import Lock
from paislurm.translator.files.shared_files import SharedFiles
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import read
from paislurm.translator.state.journal_records import Cancelled, Ended, Intent, Retry, Submitted
from tests.clock import clock

from ...cli.running import ME
from ...monitor.jobs import CREATED, INTENT, SUBMITTED, FakeBackend, job_folder, leave_result, observed
from ..asked import Asked

FAILED = {"outcome": "failed", "exit_code": 255, "behaviour": "unknown", "reason": "worker-0 failed"}
FAILED_255 = "FAILED (the command failed; code 255, PAIRuntimeUnknownFailed)"
ATTEMPT_0 = f"attempt 1 of {ME} {FAILED_255}: worker-0 failed; attempt 2 follows"


SUCCEEDED = Ended(
    happened_at=1, attempt=0, state="SUCCEEDED", exit_code=0, reason="", backend_state="", started_at=1, ended_at=1,
    completed=2,
)  # fmt: skip


def retry(attempt: int = 0, **changes: Any) -> Retry:
    values: dict[str, Any] = {
        "happened_at": clock(), "attempt": attempt, "exit_code": 255, "behaviour": "unknown",
        "reason": "worker-0 failed", "retry_rule": "retry 1 of 2", "retry_at": clock() + 500, "retries": attempt + 1,
        "used_retries": attempt + 1, "transient_retries": 0, "blamed_nodes": (), "backend_state": "FAILED",
        "started_at": clock() - 9, "ended_at": clock() - 1,
    }  # fmt: skip
    return Retry(**(values | changes))


def test_status_between_attempts_says_that_no_attempt_runs(asked: Asked, retried: JobFolder) -> None:
    asked.jobs.status("demo")
    retried.append(retry())
    out = asked.jobs.status("demo").out
    assert re.search(r"^state +RUNNING \(between two attempts\)$", out, re.MULTILINE)
    due = r"^reason +waiting for attempt 2, which is submitted at [-\d]+ [:\d]+; attempt 1 ended with 255: worker-0 "
    assert re.search(f"{due}failed; ", out, re.MULTILINE)
    assert "job 7 has ended\n" in out
    document = asked.jobs.status("demo").document[0]
    assert (document["state"], document["backend_state"], document["job_id"]) == ("RUNNING", "FAILED", "7")
    [line] = asked.jobs.list().value
    assert (line.state, line.exit_code, line.job_id, line.task_count) == ("RUNNING", None, "7", 2)
    assert line.reason.startswith("waiting for attempt 2, which is submitted at ")


def test_a_due_attempt_is_no_change_of_a_watched_job(retried: JobFolder, then: Callable[..., list[float]]) -> None:
    retried.append(retry())
    then(*[lambda: None] * 5, seconds=20)
    lines = Session().jobs.watch("demo")
    assert next(lines).reason.startswith("waiting for attempt 2, which is submitted at ")
    with pytest.raises(KeyboardInterrupt):
        next(lines)


def test_a_repeated_submit_reports_the_pending_attempt(asked: Asked, retried: JobFolder, job: str) -> None:
    retried.append(retry())
    said = asked.jobs.submit(job)
    assert said.code == 4
    assert f"E511: {ME} has not ended yet: RUNNING, waiting for attempt 2, which is submitted at " in said.err


def test_a_cancel_between_attempts_names_the_attempt_not_submitted(
    asked: Asked, slurm: FakeBackend, retried: JobFolder
) -> None:
    retried.append(retry())
    said = asked.jobs.cancel("demo")
    assert (said.code, said.out) == (0, f"{ME} is cancelled before attempt 2 was submitted\n")
    assert (slurm.cancelled, slurm.submissions) == ([], [])
    reason = asked.jobs.status("demo").document[0]["reason"]
    assert reason.startswith(f"cancelled by {user_name()} before attempt 2 was submitted; attempt 1 ended with 255")


def test_a_cancel_beside_a_monitor_is_recorded_once(asked: Asked, retried: JobFolder, surroundings: Path) -> None:
    """The monitor has the lock, and may be submitting the next attempt."""
    retried.append(retry())
    with Lock(SharedFiles(surroundings.parent / "monitor")).taken() as mine:
        assert mine
        assert asked.jobs.cancel("demo").code == 0
    assert sum(isinstance(record, Cancelled) for record in read(retried.journal).records) == 1


@pytest.fixture
def second_succeeds(retried: JobFolder, monkeypatch: pytest.MonkeyPatch, then: Callable[..., list[float]]) -> None:
    """Let the job be retried while somebody waits, and the second attempt succeed, as a monitor writes it down."""
    now = clock()
    records = (
        retry(),
        Intent(happened_at=now, attempt=1, tag="paislurm-1.1"),
        Submitted(happened_at=now, attempt=1, job_id="8", job="demo", user=user_name(), backend="slurm", task_count=2),
        replace(SUCCEEDED, happened_at=now, attempt=1, reason="well"),
    )
    then(*(partial(retried.append, record) for record in records), *[lambda: None] * 20, seconds=1)
    monkeypatch.setattr(waiting, "_is_watched", lambda _: True)


@pytest.mark.parametrize("words", [("demo",), ("demo", "other")])
@pytest.mark.usefixtures("second_succeeds")
def test_wait_reports_each_attempt(asked: Asked, surroundings: Path, words: tuple[str, ...]) -> None:
    other = replace(CREATED, user=user_name(), job="other")
    sent = replace(SUBMITTED, job="other")
    job_folder(surroundings, other, INTENT, sent, SUCCEEDED, name=f"{user_name()}~other")
    said = asked.jobs.show_ends(*words)
    view = next(iter(said.value))
    assert (view.name, view.state, view.reason) == (ME, "SUCCEEDED", "well")
    first, second = (line for line in said.err.splitlines() if " attempt " in line)
    assert re.fullmatch(r"\d\d:\d\d:\d\d " + re.escape(ATTEMPT_0) + r" in \d{3} s \(retry 1 of 2\)", first)
    assert re.fullmatch(rf"\d\d:\d\d:\d\d attempt 2 of {ME} is job 8", second)


@pytest.mark.usefixtures("second_succeeds")
def test_a_quiet_wait_reports_attempts_only_in_its_result(asked: Asked) -> None:
    said = asked.jobs.show_ends("demo", quiet=True)
    assert (said.err, [each.attempt for each in said.one.attempts]) == ("", [0])


def test_wait_reports_only_the_last_of_many_earlier_attempts(
    asked: Asked, retried: JobFolder, then: Callable[..., list[float]]
) -> None:
    then()
    for attempt in range(5):
        retried.append(retry(attempt, reason="\x1b[2J\nx"))
    reported = [line for line in asked.jobs.show_ends("demo").err.splitlines() if " FAILED (" in line]
    assert [line.split()[2] for line in reported] == ["3", "4", "5"]
    assert r"\x1b[2J\nx; attempt 6 follows" in reported[-1]


def test_a_retry_decided_by_this_process_is_reported(
    asked: Asked, slurm: FakeBackend, retried: JobFolder, then: Callable[..., list[float]]
) -> None:
    """Without a monitor, who waits takes its steps."""

    def fails() -> None:
        leave_result(retried, **FAILED)
        slurm.observations[JobId("7")] = observed("FAILED", final=True)

    then(fails, lambda: None, lambda: None, seconds=30)
    said = asked.jobs.show_ends("demo").err
    assert f"{ATTEMPT_0} (retry 1 of 2)" in said
    assert f"attempt 2 of {ME} is job 101" in said
    assert len(slurm.submissions) == 1


def test_the_meaning_of_an_exit_code_is_shown_before_the_next_attempt(
    asked: Asked, retried: JobFolder, monkeypatch: pytest.MonkeyPatch, then: Callable[..., list[float]]
) -> None:
    """Once for each code; nothing for 255, which tells nothing."""
    for before in (retry(), retry(1, exit_code=137, retry_rule="transient")):
        retried.append(before)
    then(*(partial(retried.append, retry(at, exit_code=code)) for at, code in ((2, 137), (3, -1001))))
    monkeypatch.setattr(waiting, "_is_watched", lambda _: True)
    reported = [line for line in asked.jobs.show_ends("demo").err.splitlines() if line.startswith("usual cause: ")]
    assert [line.split(";")[0].split(":")[1].split()[0] for line in reported] == ["signal", "a"]
