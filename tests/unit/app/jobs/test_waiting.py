"""Waiting for jobs: how often Slurm is polled, what events tell, and what ends the wait."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.app.jobs import waiting
from paislurm.translator.app.jobs.waiting import Pace
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import Cancelled, Observed

from ...cli.running import ME, own_job
from ...monitor.jobs import CREATED, INTENT, SUBMITTED, FakeBackend, job_folder, leave_result, observed
from ..asked import Asked


def test_wait_survives_outages_and_reports_them_once(
    asked: Asked, slurm: FakeBackend, folder: JobFolder, then: Callable[..., list[float]]
) -> None:
    def answers() -> None:
        slurm.fails = ""
        slurm.observations[JobId("7")] = observed("CANCELLED", final=True, raw_state="CANCELLED by 0")

    slurm.fails = "away"
    then(*[lambda: None] * 40, answers, *[lambda: None] * 40, seconds=0.5)
    said = asked.jobs.show_ends("demo")
    assert (said.err.count("still waiting: Slurm"), said.one.name, said.one.state) == (1, folder.name, "STOPPED")


@pytest.mark.parametrize("watched", [False, True])
def test_each_reason_for_waiting_is_reported_once(
    asked: Asked,
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
    said = asked.jobs.show_ends("demo")
    reported = [line for line in said.err.splitlines() if line.startswith((f"{ME} waits, since", "advice: "))]
    assert [line.partition(": ")[2] for line in reported] == [
        "Resources: other jobs use the resources that it requests",
        "set a shorter time limit (`extras.slurm.time`), or request less, to start earlier",
        "it cannot start as it is: JobHeldUser: its user holds it",
        "release it with `paislurm update demo --release`",
    ]
    assert (said.code, slurm.queries - queries <= (1 if watched else 9)) == (0, True)


def test_wait_polls_for_a_cancelled_job_despite_a_running_monitor(
    asked: Asked, slurm: FakeBackend, folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never began, so that no file tells of its end."""
    monkeypatch.setattr(waiting, "_is_watched", lambda _: True)
    folder.append(Cancelled(happened_at=1000, attempt=0, user="alice", job_id="7"))
    slurm.observations[JobId("7")] = observed("CANCELLED", final=True, raw_state="CANCELLED by 0")
    assert asked.jobs.show_ends("demo").one.state == "STOPPED"


@pytest.mark.parametrize("ago", [119, 120])
def test_wait_polls_for_a_job_that_was_cut_off_despite_a_running_monitor(
    asked: Asked,
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
    assert asked.jobs.show_ends("demo").code == (0 if ago == 119 else 130)


def test_own_journal_writes_do_not_trigger_a_poll(tmp_path: Path) -> None:
    journal, result = tmp_path / "journal.jsonl", tmp_path / "result.json"
    pace = Pace(0.5, result, journal)
    assert pace.due(0)
    journal.write_text("why it waits\n", encoding="utf-8")
    pace.settle(journal)
    assert not pace.due(0.1)
    result.write_text("{}", encoding="utf-8")
    assert pace.due(0.2)


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


@pytest.mark.usefixtures("slurm")
def test_wait_ends_at_once_for_an_unknown_job(asked: Asked, surroundings: Path) -> None:
    lost = job_folder(surroundings, CREATED, INTENT, SUBMITTED)
    said = asked.jobs.show_ends("alice~demo")
    assert (said.code, "Slurm does not know job 7" in said.err) == (5, True)
    given_up = asked.jobs.cancel("alice~demo")
    assert (given_up.code, "is given up" in given_up.out, lost.claim(0).exists()) == (0, True, True)
    assert "STOPPED" in asked.jobs.status("alice~demo").out


def test_wait_waits_for_several_jobs(
    asked: Asked, three: list[JobFolder], slurm: FakeBackend, then: Callable[..., list[float]]
) -> None:
    ticks = then(*(change for job in (1, 0) for change in (lambda: None, partial(leave_result, three[job]))))
    reported: list[str] = []
    said = asked.jobs.show_ends("train-1", "train-2", reported=lambda view: reported.append(view.job))
    assert ([view.job for view in said.value], reported) == (["train-1", "train-2"], ["train-2", "train-1"])
    assert len(ticks) == 4
    assert slurm.queries < 10


def test_wait_continues_for_other_jobs_if_one_is_unknown(
    asked: Asked, three: list[JobFolder], slurm: FakeBackend, surroundings: Path
) -> None:
    own_job(surroundings, "lost", "99", age=100_000)
    leave_result(three[0])
    slurm.observations[JobId("11")] = observed("COMPLETED", final=True, job_id="11")
    reported: list[tuple[str, str]] = []
    said = asked.jobs.show_ends("lost", "train-1", reported=lambda view: reported.append((view.job, view.state)))
    said.ends(5, "Slurm does not know job 99")
    assert reported == [("train-1", "SUCCEEDED")]
