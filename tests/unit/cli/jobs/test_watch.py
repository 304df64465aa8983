"""`watch`: how jobs stand, as it changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.app.session import user_name
from paislurm.translator.state.job_folder import JobFolder

from ...monitor.jobs import ENDED, NOW, FakeBackend, leave_result, observed
from ..running import Runner, own_job

pytestmark = pytest.mark.usefixtures("slurm", "folder")

ME = user_name()


@pytest.fixture
def folder(surroundings: Path) -> JobFolder:
    """Make a job that was submitted a moment ago, and one that ended long before."""
    own_job(surroundings, "old", "6", ENDED, age=100_000)
    return own_job(surroundings, "demo", "7", age=0)


def test_each_change_prints_a_line_until_all_jobs_have_ended(
    run: Runner, slurm: FakeBackend, folder: JobFolder, then: Callable[..., list[float]]
) -> None:
    slurm.observations[JobId("7")] = observed("PENDING", reason="Priority")

    def runs() -> None:
        slurm.observations[JobId("7")] = observed("RUNNING", reason="None")

    def ends() -> None:
        leave_result(folder)
        slurm.observations[JobId("7")] = observed("COMPLETED", final=True)

    then(runs, ends, seconds=20)
    said = run("watch", "--json")
    shown = [json.loads(line) for line in said.out.splitlines()]
    assert (said.code, {line["name"] for line in shown}) == (0, {f"{ME}~demo"})
    assert [(line["reason"], line["ended"]) for line in shown] == [
        ("Priority: jobs with a higher priority are ahead of it", False),
        ("the nodes are allocated, the tasks are starting", False),
        ("all is well", True),
    ]


def test_a_stall_prints_a_line(
    run: Runner, slurm: FakeBackend, folder: JobFolder, then: Callable[..., list[float]]
) -> None:
    slurm.observations[JobId("7")] = observed("RUNNING", reason="None")
    stall = {"version": 1, "found_at": NOW, "moved_at": None, "tasks": ["worker-0"], "reason": "worker-0 does not move"}

    def stalls() -> None:
        folder.stall(0).write_text(json.dumps(stall), encoding="utf-8")

    def ends() -> None:
        leave_result(folder)
        slurm.observations[JobId("7")] = observed("COMPLETED", final=True)

    then(stalls, ends, seconds=20)
    reasons = [json.loads(line)["reason"] for line in run("watch", "--json").out.splitlines()]
    assert reasons[1:] == ["stalled: worker-0 does not move", "all is well"]


def test_watch_ends_despite_an_unreadable_journal(
    run: Runner, folder: JobFolder, then: Callable[..., list[float]]
) -> None:
    folder.journal.write_bytes(b"")
    then(seconds=20)
    said = run("watch")
    assert (said.code, said.err) == (0, "you have no unfinished jobs\n")
    named = run("watch", folder.name)
    assert (named.code, "its journal cannot be read (it is empty)" in named.out) == (0, True)


def test_watch_continues_until_interrupted(run: Runner, slurm: FakeBackend, then: Callable[..., list[float]]) -> None:
    slurm.observations[JobId("7")] = observed("PENDING", reason="Priority")
    then(lambda: None, lambda: None, seconds=20)
    said = run("watch")
    assert (said.code, said.err, said.out.count("\n")) == (130, "interrupted\n", 1)
    assert "WAITING" in said.out


def test_once_prints_the_screen_once(run: Runner, slurm: FakeBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    slurm.observations[JobId("7")] = observed("PENDING", reason="Priority")
    all_jobs, both, one = (run("watch", *names, "--once") for names in ([], ["demo", "old"], ["demo"]))
    assert (all_jobs.code, both.code, one.code) == (0, 0, 0)
    assert all_jobs.out.splitlines()[0] == "1 job   . 1 waiting"
    assert "Priority: jobs with a higher priority are ahead of it" in all_jobs.out
    assert [line.split()[:4] for line in both.out.splitlines()[2:4]] == [
        [">", "X", "old", "FAILED"],
        [".", "demo", "WAITING", "-"],
    ]
    assert one.out.startswith("demo  WAITING  job 7  submitted ")
    assert "q quit" not in all_jobs.out + one.out
    assert run.json("watch", "demo", "--once")["state"] == "WAITING"


def test_named_jobs_are_shown_after_their_end(run: Runner) -> None:
    said = run("watch", "old")
    assert (said.code, said.out.count("FAILED 255"), len(said.out.splitlines())) == (0, 1, 1)


def test_an_outage_is_reported_once(run: Runner, slurm: FakeBackend, then: Callable[..., list[float]]) -> None:
    slurm.fails = "away"
    then(lambda: None, seconds=20)
    said = run("watch", "demo")
    assert (said.code, said.err.count("does not answer")) == (130, 1)
