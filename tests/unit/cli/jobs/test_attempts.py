"""What users are told of a job that is retried: between two attempts, while they wait, and when they cancel it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.app.jobs import waiting
from paislurm.translator.app.session import user_name
from paislurm.translator.files.lock import Lock
from paislurm.translator.files.shared_files import SharedFiles
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import read
from paislurm.translator.state.journal_records import Cancelled, Ended, Intent, Retry, RetryPolicy, Submitted
from tests.clock import clock

from ...monitor.jobs import CREATED, INTENT, SUBMITTED, FakeBackend, job_folder, leave_result, observed, task
from ..running import ME, Runner

TRIGGER = {"completion_rule": "C2", "role": "worker", "index": 0, "count": 1, "threshold": 1}
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


@pytest.fixture
def retried(surroundings: Path, slurm: FakeBackend) -> JobFolder:
    """Make a job of two retries, whose first attempt runs."""
    own = {"user": user_name(), "happened_at": clock() - 10}
    slurm.observations[JobId("7")] = observed("RUNNING")
    created = replace(CREATED, **own, retry_policy=RetryPolicy(retry_limit=2))
    folder = job_folder(surroundings, created, INTENT, replace(SUBMITTED, **own), name=ME)
    folder.script(0).write_text("#!/bin/bash\n", encoding="utf-8")
    return folder


def test_status_between_attempts_says_that_no_attempt_runs(run: Runner, retried: JobFolder) -> None:
    run("status", "demo")
    retried.append(retry())
    out = run("status", "demo").out
    assert re.search(r"^state +RUNNING \(between two attempts\)$", out, re.MULTILINE)
    due = r"^reason +waiting for attempt 2, which is submitted at [-\d]+ [:\d]+; attempt 1 ended with 255: worker-0 "
    assert re.search(f"{due}failed; ", out, re.MULTILINE)
    assert "job 7 has ended\n" in out
    document = run.json("status", "demo")
    assert (document["state"], document["backend_state"], document["job_id"]) == ("RUNNING", "FAILED", "7")
    assert "RUNNING  -     7   - of 2" in run("list").out
    for words in (["list"], ["status", "demo", "demo"]):
        assert "waiting for attempt 2, which is submitted at " in run(*words).out


def test_watch_prints_a_due_attempt_once(run: Runner, retried: JobFolder, then: Callable[..., list[float]]) -> None:
    retried.append(retry())
    then(*[lambda: None] * 5, seconds=20)
    said = run("watch", "demo")
    assert (said.code, said.out.count("waiting for attempt 2, which is submitted at ")) == (130, 1)


def test_status_between_attempts_explains_the_last_one(run: Runner, retried: JobFolder) -> None:
    """Its node, the signal and the last words, as if the job had failed."""
    killed = task(0, state="FAILED", exit_status=137, exit_code=137, behaviour="transient", node="n7")
    reason = {"outcome": "failed", "exit_code": 137, "behaviour": "transient", "reason": "worker-0 was killed"}
    leave_result(retried, **reason, trigger=TRIGGER, tasks=[killed, task(1)])
    log = retried.attempt(0) / "logs/0-worker/0.stdout.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("epoch 7 loss 0.3\n")
    retried.append(retry(exit_code=137, behaviour="transient", reason="worker-0 was killed"))
    first, remedy, *_ = run("status", "demo").out.splitlines()
    assert first.startswith("failed by worker-0 on n7 at ")
    assert first.endswith("which paislurm did not send, exit status 137. Last words: epoch 7 loss 0.3")
    assert remedy.startswith("  try: raise `memoryMB`")


def test_a_repeated_submit_reports_the_pending_attempt(run: Runner, retried: JobFolder, job: str) -> None:
    retried.append(retry())
    said = run("submit", job)
    assert said.code == 4
    assert f"E511: {ME} has not ended yet: RUNNING, waiting for attempt 2, which is submitted at " in said.err


def test_a_cancel_between_attempts_names_the_attempt_not_submitted(
    run: Runner, slurm: FakeBackend, retried: JobFolder
) -> None:
    retried.append(retry())
    said = run("cancel", "demo")
    assert (said.code, said.out) == (0, f"{ME} is cancelled before attempt 2 was submitted\n")
    assert (slurm.cancelled, slurm.submissions) == ([], [])
    reason = run.json("status", "demo")["reason"]
    assert reason.startswith(f"cancelled by {user_name()} before attempt 2 was submitted; attempt 1 ended with 255")


def test_a_cancel_beside_a_monitor_is_recorded_once(run: Runner, retried: JobFolder, surroundings: Path) -> None:
    """The monitor has the lock, and may be submitting the next attempt."""
    retried.append(retry())
    with Lock(SharedFiles(surroundings.parent / "monitor")).taken() as mine:
        assert mine
        assert run("cancel", "demo").code == 0
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
def test_wait_reports_each_attempt(run: Runner, surroundings: Path, words: tuple[str, ...]) -> None:
    other = replace(CREATED, user=user_name(), job="other")
    sent = replace(SUBMITTED, job="other")
    job_folder(surroundings, other, INTENT, sent, SUCCEEDED, name=f"{user_name()}~other")
    said = run("wait", *words)
    assert (said.code, f"{ME} SUCCEEDED: well" in said.err) == (0, True)
    first, second = (line for line in said.err.splitlines() if " attempt " in line)
    assert re.fullmatch(r"\d\d:\d\d:\d\d " + re.escape(ATTEMPT_0) + r" in \d{3} s \(retry 1 of 2\)", first)
    assert re.fullmatch(rf"\d\d:\d\d:\d\d attempt 2 of {ME} is job 8", second)


@pytest.mark.usefixtures("second_succeeds")
def test_with_json_attempts_are_only_in_the_document(run: Runner) -> None:
    said = run("wait", "demo", "--json")
    assert " attempt 1 of " not in said.err
    assert [each["attempt"] for each in json.loads(said.out)["attempts"]] == [0]


def test_wait_reports_only_the_last_of_many_earlier_attempts(
    run: Runner, retried: JobFolder, then: Callable[..., list[float]]
) -> None:
    then()
    for attempt in range(5):
        retried.append(retry(attempt, reason="\x1b[2J\nx"))
    reported = [line for line in run("wait", "demo").err.splitlines() if " FAILED (" in line]
    assert [line.split()[2] for line in reported] == ["3", "4", "5"]
    assert r"\x1b[2J\nx; attempt 6 follows" in reported[-1]


def test_a_retry_decided_by_this_process_is_reported(
    run: Runner, slurm: FakeBackend, retried: JobFolder, then: Callable[..., list[float]]
) -> None:
    """Without a monitor, who waits takes its steps."""

    def fails() -> None:
        leave_result(retried, **FAILED)
        slurm.observations[JobId("7")] = observed("FAILED", final=True)

    then(fails, lambda: None, lambda: None, seconds=30)
    said = run("wait", "demo").err
    assert f"{ATTEMPT_0} (retry 1 of 2)" in said
    assert f"attempt 2 of {ME} is job 101" in said
    assert len(slurm.submissions) == 1


def test_the_meaning_of_an_exit_code_is_shown_before_the_next_attempt(
    run: Runner, retried: JobFolder, monkeypatch: pytest.MonkeyPatch, then: Callable[..., list[float]]
) -> None:
    """Once for each code; `wait` prints nothing for 255, which tells nothing."""
    retried.append(retry())
    assert re.match(r"failed at \S+ \S+: worker-0 failed\n  try: ", run("status", "demo").out)
    retried.append(retry(1, exit_code=137, retry_rule="transient"))
    out = run("status", "demo").out
    assert re.search(r"^usually +signal KILL \(9\)", out, re.MULTILINE)
    assert re.search(r"^  try: raise `memoryMB`", out, re.MULTILINE)
    then(*(partial(retried.append, retry(at, exit_code=code)) for at, code in ((2, 137), (3, -1001))))
    monkeypatch.setattr(waiting, "_is_watched", lambda _: True)
    reported = [line for line in run("wait", "demo").err.splitlines() if line.startswith("usual cause: ")]
    assert [line.split(";")[0].split(":")[1].split()[0] for line in reported] == ["signal", "a"]
