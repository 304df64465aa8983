"""`submit --sweep --at-once`, and a sweep at a limit of Slurm: what is submitted, what waits here, and what is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paislurm.backends.base import Accepted, Submission
from paislurm.backends.runner import Completed
from paislurm.backends.slurm.refusals import failure
from paislurm.translator.app.session import user_name
from paislurm.translator.files.names import ENVIRONMENT
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import Pace

from ...app.submit.test_back_off import LIMIT
from ...monitor.jobs import FakeBackend, leave_result, observed
from ..running import JOB, Runner, job_file

ME = user_name()
TEXT = JOB.replace("name: demo", "name: train\nparameters: {seed: 1}")
FOUR = ("--sweep", "seed=1..4")
WHY = "at most 2 jobs of group train at Slurm at once"

pytestmark = pytest.mark.usefixtures("slurm", "profile")


@pytest.fixture
def job(tmp_path: Path) -> str:
    return job_file(tmp_path, TEXT)


def end(surroundings: Path, slurm: FakeBackend, number: int, **result: object) -> None:
    """Let a submitted job of the sweep end."""
    folder = JobFolder(path=surroundings / f"{ME}~train-seed{number}")
    leave_result(folder, **result)
    job_id = folder.history().job_id
    slurm.observations[job_id] = observed("COMPLETED", final=True, job_id=job_id)  # type: ignore[index]


def ids(run: Runner) -> list[str | None]:
    """Return the ids of the jobs of the sweep, by name."""
    rows = json.loads(run("list", "--group", "train", "--json").out)["jobs"]
    return [row["job_id"] for row in sorted(rows, key=lambda row: row["name"])]


def full(monkeypatch: pytest.MonkeyPatch, slurm: FakeBackend, *, room: int) -> None:
    """Let Slurm take so many jobs more."""
    submit = slurm.submit

    def limited(submission: Submission) -> Accepted:
        if len(slurm.submissions) >= room:
            raise failure(["sbatch"], Completed(status=1, stdout="", stderr=LIMIT))
        return submit(submission)

    monkeypatch.setattr(slurm, "submit", limited)


def test_two_at_once_are_submitted_and_the_others_wait_here(
    run: Runner, job: str, slurm: FakeBackend, surroundings: Path
) -> None:
    said = run("submit", job, *FOUR, "--at-once", "2")
    waits = [f"{ME}~train-seed{number} waits here: {WHY}" for number in (2, 3, 4)]
    assert (said.code, said.out.splitlines()) == (0, [f"{ME}~train-seed1 is job 101", *waits])
    assert "group train: 4 jobs submitted, 3 of them wait here\n" in said.err
    assert ids(run) == ["101", "102", None, None]
    third = JobFolder(path=surroundings / f"{ME}~train-seed3")
    assert (third.history().pace, (third.path / ENVIRONMENT).exists()) == (Pace(most_at_once=2), True)
    end(surroundings, slurm, 2)
    assert run("status", "train-seed4").code == 0
    assert ids(run) == ["101", "102", "103", None], "who shows a job that waits lets the others go first"
    for number in (1, 3):
        end(surroundings, slurm, number)
    assert ids(run) == ["101", "102", "103", "104"]
    assert [each.job for each in slurm.submissions] == [f"train-seed{number}" for number in (1, 2, 3, 4)]


def test_all_who_show_the_sweep_say_how_many_wait_here_and_why(run: Runner, job: str) -> None:
    run("submit", job, *FOUR, "--at-once", "2")
    text = f"2 jobs wait here: {WHY}"
    run("list", "--group", "train").ends(0, text)
    assert json.loads(run("list", "--group", "train", "--json").out)["waiting_here"] == text
    assert run("status", "train").out.endswith(f"group train: 4 jobs, 4 waiting\n{text}\n")
    assert f"reason           {WHY}\n" in run("status", "train-seed3").out
    document = json.loads(run("status", "train-seed3", "--json").out)
    assert [document[key] for key in ("state", "accepted", "reason")] == ["WAITING", False, WHY]


def test_a_living_group_is_continued_at_its_pace(run: Runner, job: str, slurm: FakeBackend) -> None:
    run("submit", job, "--sweep", "seed=1..2")
    said = run("submit", job, *FOUR, "--at-once", "2")
    said.ends(0, "group train: 2 jobs submitted, 2 of them wait here, 2 were submitted before\n")
    assert len(slurm.submissions) == 2


def test_a_job_file_that_slurm_refuses_is_refused_at_once(
    run: Runner, job: str, slurm: FakeBackend, surroundings: Path
) -> None:
    slurm.fails = "refuses"
    run("submit", job, *FOUR, "--at-once", "2").ends(4, "E503", "0 of 4 jobs of train are submitted")
    assert [path.name for path in surroundings.iterdir() if path.name[0] != "."] == []


def test_a_limit_of_slurm_holds_the_rest_of_a_sweep_back(
    run: Runner, job: str, slurm: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        full(patched, slurm, room=2)
        said = run("submit", job, *FOUR)
        assert (said.code, "error" in said.err) == (0, False)
        waits = [
            f"{ME}~train-seed{number} waits here: it is submitted when Slurm accepts more jobs" for number in (3, 4)
        ]
        assert said.out.splitlines()[2:] == waits
        assert "AssocMaxSubmitJobLimit" in run("list", "--group", "train").err
    assert len(slurm.submissions) == 2
    assert run("cancel", "train-seed3").code == 0
    assert run("submit", job, *FOUR).err.startswith("group train: 0 jobs submitted, 4 were submitted before\n")


def test_failures_of_one_cause_stop_the_sweep_and_the_same_command_continues_it(
    run: Runner, job: str, slurm: FakeBackend, surroundings: Path
) -> None:
    paced = ("--at-once", "1", "--stop-after", "1")
    run("submit", job, *FOUR, *paced)
    end(surroundings, slurm, 1, outcome="failed", exit_code=255, behaviour="unknown", reason="worker-0 failed")
    rows = json.loads(run("list", "--group", "train", "--json").out)["jobs"]
    assert [row["state"] for row in rows] == ["FAILED", "STOPPED", "STOPPED", "STOPPED"]
    assert rows[1]["reason"] == "never submitted: 1 job of group train failed with code 255, one as: worker-0 failed"
    again = json.loads(run("submit", job, *FOUR, *paced, "--json").out)
    assert [each["name"] for each in again["jobs"]] == [f"{ME}~train-seed{number}@2" for number in (2, 3, 4)]
    assert again["present"] == [f"{ME}~train-seed1"]
    assert [each.job for each in slurm.submissions] == ["train-seed1", "train-seed2"], "the earlier failure is over"


def test_a_group_is_cancelled_with_the_jobs_that_wait_here(run: Runner, job: str, slurm: FakeBackend) -> None:
    run("submit", job, *FOUR, "--at-once", "2")
    assert run("cancel", "train").code == 0
    assert slurm.cancelled == ["101", "102"]
    rows = json.loads(run("list", "--group", "train", "--json").out)["jobs"]
    assert [row["ended"] for row in rows] == [False, False, True, True]
    assert len(slurm.submissions) == 2


def test_without_a_monitor_each_job_of_a_paced_sweep_calls_it_at_its_end(
    run: Runner, job: str, surroundings: Path, profile: Path
) -> None:
    profile.write_text(profile.read_text().replace("monitor: {background: false}", "monitor: none"))
    run("submit", job, *FOUR, "--at-once", "2")
    scripts = [JobFolder(path=surroundings / f"{ME}~train-seed{number}").script(0).read_text() for number in (1, 3)]
    assert all("PSL_MONITOR_AFTER='end'" in text for text in scripts)


def test_options_that_need_others_say_so(run: Runner, job: str) -> None:
    run("submit", job, "--at-once", "2").ends(2, "--at-once needs --sweep")
    run("submit", job, *FOUR, "--stop-after", "2").ends(2, "--stop-after needs --at-once")
    run("submit", job, *FOUR, "--at-once", "0").ends(2, "--at-once")
