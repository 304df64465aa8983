"""`wait`, `cancel` and `monitor`: what goes on, or is ended, while a job lives."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.app import monitor_run as monitoring
from paislurm.translator.app.jobs import waiting
from paislurm.translator.app.jobs.waiting import TICK, Pace
from paislurm.translator.app.session import user_name
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import read
from paislurm.translator.state.journal_records import Cancelled, Ended, Observed

from ...monitor.jobs import CREATED, INTENT, SUBMITTED, FakeBackend, claim, job_folder, leave_result, observed
from ..running import ME, Runner


def test_wait_ends_with_the_job(
    run: Runner, slurm: FakeBackend, folder: JobFolder, then: Callable[..., list[float]]
) -> None:
    slept = then(*[lambda: None] * 8, lambda: leave_result(folder))
    slurm.observations[JobId("7")] = observed("RUNNING")
    said = run("wait", "demo")
    assert (said.code, said.out, len(slept)) == (0, "", 9)
    assert f"{ME} SUCCEEDED: all is well" in said.err
    assert slurm.queries <= 3
    # A job that ends at once is seen at once; one that lasts costs two looks a second.
    assert slept == sorted(slept)
    assert 8 * slept[0] < slept[-1] == TICK


def test_wait_exits_with_1_for_a_failed_job(run: Runner, slurm: FakeBackend, folder: JobFolder) -> None:
    leave_result(folder, outcome="failed", exit_code=255, reason="worker-0 failed")
    slurm.observations[JobId("7")] = observed("FAILED", final=True)
    assert run.json("wait", "demo")["state"] == "FAILED"
    for words in ((), ("--json",)):
        said = run("wait", "demo", *words)
        assert (said.code, f"see: paislurm status {ME}" in said.err) == (1, True)


def test_wait_survives_outages_and_reports_them_once(
    run: Runner, slurm: FakeBackend, folder: JobFolder, then: Callable[..., list[float]]
) -> None:
    def answers() -> None:
        slurm.fails = ""
        slurm.observations[JobId("7")] = observed("CANCELLED", final=True, raw_state="CANCELLED by 0")

    slurm.fails = "away"
    then(*[lambda: None] * 40, answers, *[lambda: None] * 40, seconds=0.5)
    said = run("wait", "demo")
    assert (said.code, said.err.count("still waiting: Slurm"), f"{folder.name} STOPPED" in said.err) == (1, 1, True)


@pytest.mark.parametrize("watched", [False, True])
def test_each_reason_for_waiting_is_reported_once(
    run: Runner,
    slurm: FakeBackend,
    folder: JobFolder,
    monkeypatch: pytest.MonkeyPatch,
    then: Callable[..., list[float]],
    watched: bool,
) -> None:
    """By who asks Slurm, or by the journal, where a monitor asks."""

    def says(*reasons: str) -> Callable[[], object]:
        def change() -> None:
            slurm.observations[JobId("7")] = observed("PENDING", reason=reasons[0], reasons=reasons)
            if watched:
                folder.append(
                    Observed(
                        happened_at=1000,
                        attempt=0,
                        backend_state="PENDING",
                        backend_reason=reasons[0],
                        backend_reasons=reasons,
                    )
                )

        return change

    def ends() -> None:
        monkeypatch.setattr(waiting, "_is_watched", lambda _: False)
        leave_result(folder)

    monkeypatch.setattr(waiting, "_is_watched", lambda _: watched)
    says("None")()
    queries = slurm.queries
    held, line = says("JobHeldUser"), says("Resources")
    then(line, says("Priority"), line, held, held, says("None"), held, ends, seconds=30)
    said = run("wait", "demo")
    reported = [line for line in said.err.splitlines() if line.startswith((f"{ME} waits, since", "advice: "))]
    assert [line.partition(": ")[2] for line in reported] == [
        "Resources: other jobs use the resources that it requests",
        "set a shorter time limit (`extras.slurm.time`), or request less, to start earlier",
        "it cannot start as it is: JobHeldUser: its user holds it",
        "release it with `paislurm update demo --release`",
    ]
    assert (said.code, slurm.queries - queries <= (1 if watched else 9)) == (0, True)


def test_wait_polls_for_a_cancelled_job_despite_a_running_monitor(
    run: Runner, slurm: FakeBackend, folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never began, so that no file tells of its end."""
    monkeypatch.setattr(waiting, "_is_watched", lambda _: True)
    folder.append(Cancelled(happened_at=1000, attempt=0, user="alice", job_id="7"))
    slurm.observations[JobId("7")] = observed("CANCELLED", final=True, raw_state="CANCELLED by 0")
    said = run("wait", "demo")
    assert (said.code, f"{ME} STOPPED" in said.err) == (1, True)


@pytest.mark.parametrize("ago", [119, 120])
def test_wait_polls_for_a_job_that_was_cut_off_despite_a_running_monitor(
    run: Runner,
    slurm: FakeBackend,
    folder: JobFolder,
    monkeypatch: pytest.MonkeyPatch,
    then: Callable[..., list[float]],
    ago: int,
) -> None:
    """Its batch script left no result, but srun tells that a node has failed. After two minutes, the monitor polls."""
    monkeypatch.setattr(waiting, "_is_watched", lambda _: True)
    then()
    log = folder.attempt(0) / "srun" / "0-w.log"
    log.parent.mkdir()
    log.write_text("srun: error: Node failure on n3\n", encoding="utf-8")
    os.utime(log, (time.time() - ago,) * 2)
    slurm.observations[JobId("7")] = observed("NODE_FAIL", final=True)
    assert run("wait", "demo").code == (1 if ago == 119 else 130)


def test_own_journal_writes_do_not_trigger_a_poll(tmp_path: Path) -> None:
    journal, result = tmp_path / "journal.jsonl", tmp_path / "result.json"
    pace = Pace(0.5, result, journal)
    assert pace.due(0)
    journal.write_text("why it waits\n", encoding="utf-8")
    pace.settle(journal)
    assert not pace.due(0.1)
    result.write_text("{}", encoding="utf-8")
    assert pace.due(0.2)


def test_ctrl_c_during_wait_does_not_cancel_the_job(
    run: Runner, slurm: FakeBackend, folder: JobFolder, then: Callable[..., list[float]]
) -> None:
    then()
    slurm.observations[JobId("7")] = observed("RUNNING")
    said = run("wait", "demo")
    assert (said.code, slurm.cancelled) == (130, [])
    assert f"interrupted; job {folder.name} continues" in said.err
    assert f"cancel it with `paislurm cancel {ME}`" in said.err


@pytest.mark.parametrize("seconds", [0, 20])
def test_wait_timeout_exits_with_124(
    run: Runner, slurm: FakeBackend, folder: JobFolder, then: Callable[..., list[float]], seconds: int
) -> None:
    slurm.observations[JobId("7")] = observed("RUNNING")
    then(*[lambda: None] * (seconds // 20), seconds=30)
    said = run("wait", "demo", f"--timeout={seconds}")
    assert (said.code, slurm.cancelled) == (124, [])
    assert f"E533: {ME} has not ended within {seconds} s" in said.err
    leave_result(folder)
    slurm.observations[JobId("7")] = observed("COMPLETED", final=True)
    assert run("wait", "demo", f"--timeout={seconds}").code == 0


@pytest.mark.usefixtures("slurm")
def test_wait_ends_at_once_for_an_unknown_job(run: Runner, surroundings: Path) -> None:
    lost = job_folder(surroundings, CREATED, INTENT, SUBMITTED)
    said = run("wait", "alice~demo")
    assert (said.code, "Slurm does not know job 7" in said.err) == (5, True)
    given_up = run("cancel", "alice~demo")
    assert (given_up.code, "is given up" in given_up.out, lost.claim(0).exists()) == (0, True, True)
    assert "STOPPED" in run("status", "alice~demo").out


def test_poll_intervals_grow(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    pace = Pace(0.5, result)
    asked = [now / 10 for now in range(600) if pace.due(now / 10)]
    pauses = [later - earlier for earlier, later in pairwise(asked)]
    assert asked[0] == 0
    assert pauses == sorted(pauses)
    assert pauses[-1] == pytest.approx(10)
    result.write_text("{}", encoding="utf-8")
    assert pace.due(60.1), "there is a new result"
    assert not pace.due(60.2)
    assert pace.due(60.7)


def test_cancel_cancels_the_job(run: Runner, slurm: FakeBackend, folder: JobFolder) -> None:
    slurm.observations[JobId("7")] = observed("RUNNING")
    said = run("cancel", "demo")
    assert (said.code, said.out) == (0, f"{ME} is being cancelled (job 7)\n")
    assert slurm.cancelled == ["7"]
    records = read(folder.journal).records
    assert [record.user for record in records if isinstance(record, Cancelled)] == [user_name()]
    assert f"cancelled by {user_name()}" in run("status", "demo").out
    slurm.observations[JobId("7")] = observed("CANCELLED", final=True)
    assert run.json("cancel", "demo")["message"] == f"{ME} has already ended: STOPPED"
    assert slurm.cancelled == ["7"]
    assert sum(isinstance(record, Ended) for record in read(folder.journal).records) == 1


@pytest.mark.parametrize("began", [False, True])
def test_a_cancel_does_not_reach_another_job_with_the_number(
    run: Runner, slurm: FakeBackend, folder: JobFolder, began: bool
) -> None:
    slurm.observations[JobId("7")] = observed("RUNNING", tag="paislurm-2")
    if began:
        claim(folder, "7", 1)
    said = run("cancel", "demo")
    assert (said.code, slurm.cancelled) == (0, [])
    message = f"{ME} is being cancelled: Slurm has lost job 7, and another job has its number\n"
    assert said.out == (message if began else f"{ME} has already ended: FAILED\n")
    assert any(isinstance(record, Cancelled | Ended) for record in read(folder.journal).records)


@pytest.mark.parametrize("began", [False, True])
def test_a_cancel_that_may_have_reached_another_job_says_so(
    run: Runner, slurm: FakeBackend, folder: JobFolder, monkeypatch: pytest.MonkeyPatch, began: bool
) -> None:
    """The controller died, forgot the job, and gave its number away while scancel tried to reach it."""
    slurm.observations[JobId("7")] = observed("PENDING", tag="paislurm-1", name="x-demo")
    names: list[object] = []
    if began:
        claim(folder, "7", 1)

    def cancel(*job_ids: JobId, **given: object) -> None:
        names.append((job_ids, given))
        slurm.observations[JobId("7")] = observed("CANCELLED", tag="paislurm-2", name="x-other")

    monkeypatch.setattr(slurm, "cancel", cancel)
    said = run("cancel", "demo")
    assert names == [(("7",), {"names": {"7": "x-demo"}})]
    lost = f"{ME} is being cancelled: Slurm has lost job 7, and another job has its number now"
    assert (said.code, said.out) == (0, f"{lost}: if the cancel has ended that one, submit it again\n")


def test_a_cancel_without_an_answer_names_the_job(
    run: Runner, slurm: FakeBackend, folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller is away, and may give the number to another job before it is back."""
    names: list[object] = []
    slurm.fails = "away"
    monkeypatch.setattr(slurm, "cancel", lambda *ids, **given: names.append((ids, given)))
    said = run("cancel", "demo")
    assert (said.code, said.out) == (0, f"{ME} is being cancelled (job 7)\n")
    assert names == [(("7",), {"names": {"7": folder.history().job}})]


def test_a_monitor_reports_write_errors_and_keeps_trying(
    run: Runner, slurm: FakeBackend, folder: JobFolder, then: Callable[..., list[float]]
) -> None:
    blocked = folder.path.parents[1] / "monitor"
    blocked.write_text("", encoding="utf-8")
    slurm.observations[JobId("7")] = observed("COMPLETED", final=True)
    leave_result(folder)
    once = run("monitor", "--once")
    assert (once.code, f"cannot write {blocked}: " in once.err, slurm.queries) == (0, True, 0)
    pauses = then(*[lambda: None] * (monitoring.TRIES + 4), blocked.unlink)
    said = run("monitor")
    assert (said.code, len(pauses)) == (0, monitoring.TRIES + 5)
    assert read(folder.journal).records[-1] == folder.history().ended
    assert said.err.count("cannot write ") == 1
    assert f"{ME}: SUCCEEDED attempt 1" in said.err
