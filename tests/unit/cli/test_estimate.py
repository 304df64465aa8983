"""`submit --test-only`: what it prints, and that nothing is left or submitted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from paislurm.translator.app.session import Session
from paislurm.translator.errors import Diagnostic, UnreachableError

from ..backends.recording import read
from ..monitor.jobs import FakeBackend
from .running import JOB, Runner, job_file

pytestmark = pytest.mark.usefixtures("slurm")


class Slurm:
    """A Slurm that answers as recorded, whatever the partitions are called; it keeps what it was asked."""

    def __init__(self, case: str, version: str = "24.11") -> None:
        self.answers = {each.argv[0]: each.completed for each in read(f"estimate_{case}", version)}
        self.asked: list[list[str]] = []
        self.script = ""

    def run(self, argv: list[str], *, stdin: str = "", **_: Any) -> Any:
        if argv[0] not in self.answers:
            raise UnreachableError(Diagnostic(code="E501", message=f"`{argv[0]}` is not on PATH"))
        self.asked.append(argv)
        self.script = self.script or stdin
        return self.answers[argv[0]]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Slurm:
    answering = Slurm("busy")
    monkeypatch.setattr(Session, "slurm_runner", lambda *_: answering)
    # The day of the test is no concern of its: it is ten minutes before the start that was recorded.
    (start,) = re.findall(r"to start at (\d+) ", answering.answers["sbatch"].stderr)
    monkeypatch.setattr(Session, "now", lambda _: int(start) - 600)
    return answering


def test_test_only_checks_the_submit_script_and_leaves_no_files(
    run: Runner, job: str, answers: Slurm, slurm: FakeBackend, surroundings: Path
) -> None:
    said = run("submit", job, "--test-only")
    assert (said.code, slurm.submissions, surroundings.exists()) == (0, [], False)
    assert re.match(r"demo would start at 20.* \(in 10 min\)", said.out)
    assert answers.script == run("script", job).out
    assert [each[0] for each in answers.asked] == ["sbatch", "sinfo"]
    assert "--partition=batch" in answers.asked[1]


def test_a_running_job_of_the_same_name_does_not_matter(
    run: Runner, job: str, answers: Slurm, slurm: FakeBackend
) -> None:
    assert run("submit", job).code == 0
    assert "(in 10 min)" in run("submit", job, "--test-only").out
    assert (len(slurm.submissions), [each[0] for each in answers.asked]) == (1, ["sbatch", "sinfo"])
    run("submit", job, "--dry-run").ends(4, "error E511")


@pytest.mark.usefixtures("profile")
def test_a_refusal_equals_that_of_submit(run: Runner, tmp_path: Path, answers: Slurm) -> None:
    answers.answers |= Slurm("refused").answers
    file = job_file(tmp_path, f"{JOB}extras: {{slurm: {{account: nosuch}}}}\n", name="other.yaml")
    run("submit", file, "--test-only").ends(4, "$.extras.slurm.account\nerror E503: sbatch refuses --account")
    assert [each[0] for each in answers.asked] == ["sbatch"]


@pytest.mark.usefixtures("answers")
def test_a_job_with_dependencies_says_that_it_waits(run: Runner, job: str) -> None:
    assert run("submit", job).code == 0
    run("submit", job, "--suffix", "-2", "--after", "demo", "--test-only").ends(0, "it will not be submitted before")


def test_a_local_job_starts_at_once(run: Runner, job: str, surroundings: Path) -> None:
    said = run("submit", job, "--test-only", "--backend", "local")
    assert said.out == "demo would start at once on this machine: the local backend has no queue\n"
    document = json.loads(run("submit", job, "--test-only", "--backend", "local", "--json").out)
    assert (document["at_once"], document["expected_wait"]) == (True, 0)
    assert not surroundings.exists()


def test_with_host_the_login_node_is_queried(run: Runner, job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def runner(_: Session, name: str) -> Slurm:
        asked.append(name)
        return Slurm("idle")

    monkeypatch.setattr(Session, "slurm_runner", runner)
    assert run("submit", job, "--test-only", "--host", "login1").code == 0
    assert asked == ["ssh:login1"]


@pytest.mark.parametrize("option", ["--wait", "--follow", "--dry-run", "--sweep=lr=1,2"])
def test_incompatible_options_are_refused(run: Runner, job: str, option: str) -> None:
    run("submit", job, "--test-only", option).ends(2, "--test-only submits nothing")


def test_a_dry_run_suggests_test_only(run: Runner, job: str) -> None:
    assert "`--test-only` shows when it would start" in run("submit", job, "--dry-run").err
