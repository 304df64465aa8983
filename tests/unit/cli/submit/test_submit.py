"""`submit`: everything or nothing, once, and never over a job that lives."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from paislurm.backends.base import Accepted, JobId
from paislurm.translator.app.session import user_name
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import read
from paislurm.translator.state.journal_records import Created, Intent, Submitted

from ...monitor.jobs import FakeBackend, observed
from ..running import JOB, everything, finish

if TYPE_CHECKING:
    from paislurm.backends.base import Submission

    from ..running import Runner


def test_a_job_gets_a_folder_and_a_journal(run: Runner, job: str, slurm: FakeBackend, demo: JobFolder) -> None:
    said = run("submit", job)
    assert (said.code, said.out) == (0, f"{user_name()}~demo is job 101\n")
    assert "paislurm logs -f demo" in said.err
    (submission,) = slurm.submissions
    assert (submission.script, submission.folder) == (demo.script(0), demo.path)
    assert (submission.attempt, submission.log) == (0, demo.batch_log(0))
    created, intent, submitted = read(demo.journal).records
    assert isinstance(created, Created)
    assert isinstance(intent, Intent)
    assert isinstance(submitted, Submitted)
    assert (intent.tag, submitted.job_id) == (submission.tag, "101")
    assert (demo.path / "job.yaml").read_text(encoding="utf-8") == JOB
    assert isinstance(json.loads((demo.path / "plan.json").read_bytes()), dict)
    assert [(path.name, path.stat().st_mode & 0o777) for path in demo.path.parent.iterdir()] == [(demo.name, 0o700)]


@pytest.mark.usefixtures("slurm")
def test_an_unused_image_is_reported_once_an_hour(run: Runner, job: str, demo: JobFolder) -> None:
    """Not at each submit; `check`, and who submits nothing, ask."""
    said = [run("submit", job, "--suffix", f"-{k}") for k in range(2)]
    assert ["W402" in each.err for each in said] == [True, False]
    (line,) = [line for line in said[0].err.splitlines() if "W402" in line]
    assert "no site profile names a container runtime" in line
    for words in (("check", job), ("submit", job, "--dry-run"), ("script", job)):
        assert "W402" in run(*words).err, words
    (mark,) = (demo.path.parents[1] / "monitor").glob("warned-*")
    hour_ago = mark.stat().st_mtime - 3600
    os.utime(mark, (hour_ago, hour_ago))
    assert "W402" in run("submit", job, "--suffix", "-3").err


def test_the_intent_is_recorded_before_the_backend_is_called(
    run: Runner, job: str, slurm: FakeBackend, demo: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds: list[str] = []

    def submit(_: object) -> Accepted:
        kinds.extend(type(record).__name__ for record in read(demo.journal).records)
        return Accepted(JobId("9"))

    monkeypatch.setattr(slurm, "submit", submit)
    assert run("submit", job).code == 0
    assert kinds == ["Created", "Intent"]


def test_a_dry_run_leaves_no_files(run: Runner, job: str, slurm: FakeBackend, surroundings: Path) -> None:
    run("submit", job, "--dry-run").ends(0, "would create")
    assert json.loads(run("submit", job, "--dry-run", "--json").out)["job_id"] is None
    assert (slurm.submissions, surroundings.parent.exists()) == ([], False)


@pytest.mark.parametrize(
    ("fails", "code", "words"),
    [("refuses", 4, "error E503: sbatch refuses --qos: no such qos\nhint: ask"), ("missing", 6, "error E501: ")],
)
def test_a_refusal_leaves_no_files(
    run: Runner, job: str, slurm: FakeBackend, surroundings: Path, fails: str, code: int, words: str
) -> None:
    slurm.fails = fails
    run("submit", job).ends(code, words)
    assert list(surroundings.iterdir()) == []


def test_a_refusal_restores_the_finished_job(run: Runner, job: str, slurm: FakeBackend, demo: JobFolder) -> None:
    run("submit", job)
    finish(demo, slurm)
    assert "SUCCEEDED" in run("status", "demo").out
    before = everything(demo.path.parent)
    slurm.fails = "refuses"
    assert (run("submit", job).code, everything(demo.path.parent)) == (4, before)
    assert [path.name for path in demo.path.parent.iterdir()] == [demo.name]
    slurm.fails = ""
    assert run("submit", job).code == 0


def test_without_an_answer_intent_and_name_are_kept(run: Runner, job: str, slurm: FakeBackend, demo: JobFolder) -> None:
    slurm.fails = "away"
    said = run("submit", job)
    (tag,) = [record.tag for record in read(demo.journal).records if isinstance(record, Intent)]
    said.ends(6, "error E502: Slurm does not respond: timed out", "run `paislurm status demo` when", tag)
    run("submit", job).ends(6, "error E513")
    slurm.fails = ""
    assert run("submit", job).code == 4, "the first one may still be on its way"
    slurm.tags[tag] = JobId("33")
    slurm.observations[JobId("33")] = observed("PENDING", job_id="33")
    assert "job 33" in run("status", "demo").out
    assert run("submit", job).code == 4


def test_a_job_with_unknown_submission_can_be_cancelled(
    run: Runner, job: str, slurm: FakeBackend, demo: JobFolder
) -> None:
    slurm.fails = "away"
    run("submit", job)
    (tag,) = [record.tag for record in read(demo.journal).records if isinstance(record, Intent)]
    said = run("cancel", "demo")
    assert (said.code, "as soon as it is known" in said.out) == (0, True)
    slurm.fails = ""
    slurm.tags[tag] = JobId("33")
    slurm.observations[JobId("33")] = observed("PENDING", job_id="33")
    for _ in range(2):
        assert "STOPPING" in run("status", "demo").out
        assert slurm.cancelled == ["33"]


def test_a_job_id_that_cannot_be_recorded_is_an_error_and_is_found_by_its_tag(
    run: Runner, job: str, slurm: FakeBackend, demo: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        fails = Mock(side_effect=OSError(28, "No space left on device"))
        patch.setattr("paislurm.translator.state.job_folder.append", fails)
        said = run("submit", job)
    said.ends(4, f"cannot write {demo.journal}: No space left on device; Slurm accepted job 101")
    assert ("job 101" in run("status", "demo").out, len(slurm.submissions)) == (True, 1)


def test_a_submit_that_stalls_until_its_job_is_given_up_and_removed_is_an_error(
    run: Runner, job: str, slurm: FakeBackend, demo: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = slurm.submit

    def stalls(submission: Submission) -> JobId:
        job_id = submit(submission)
        shutil.rmtree(demo.path)
        return job_id

    monkeypatch.setattr(slurm, "submit", stalls)
    run("submit", job).ends(
        4, f"another process has removed {demo.name} while this submit stalled; job 101 runs nothing"
    )
    assert slurm.cancelled == ["101"]


def test_ctrl_c_during_submit_says_that_the_result_is_unknown(
    run: Runner, job: str, slurm: FakeBackend, demo: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "submit", Mock(side_effect=KeyboardInterrupt))
    run("submit", job).ends(130, "it is unknown whether it was submitted")
    assert demo.journal.exists()
