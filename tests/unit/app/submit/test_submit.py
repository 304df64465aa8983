"""`submit`: everything or nothing, once, and never over a job that lives."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest

from paislurm.backends.base import Accepted, JobId, Submission
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import read
from paislurm.translator.state.journal_records import Intent

from ...cli.running import everything, finish
from ...monitor.jobs import FakeBackend, observed
from ..asked import Asked


@pytest.mark.usefixtures("slurm")
def test_an_unused_image_is_reported_once_an_hour(asked: Asked, job: str, demo: JobFolder) -> None:
    """Not at each submit; `check`, and who submits nothing, ask."""
    said = [asked.jobs.submit(job, suffix=f"-{k}") for k in range(2)]
    assert ["W402" in each.err for each in said] == [True, False]
    (line,) = [line for line in said[0].err.splitlines() if "W402" in line]
    assert "no site profile names a container runtime" in line
    assert "W402" in asked.jobs.submit(job, dry_run=True).err
    for found in (asked.compiler.check_job(job), asked.compiler.script(job)):
        assert "W402" in found.err
    (mark,) = (demo.path.parents[1] / "monitor").glob("warned-*")
    hour_ago = mark.stat().st_mtime - 3600
    os.utime(mark, (hour_ago, hour_ago))
    assert "W402" in asked.jobs.submit(job, suffix="-3").err


def test_the_intent_is_recorded_before_the_backend_is_called(
    asked: Asked, job: str, slurm: FakeBackend, demo: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds: list[str] = []

    def submit(_: object) -> Accepted:
        kinds.extend(type(record).__name__ for record in read(demo.journal).records)
        return Accepted(JobId("9"))

    monkeypatch.setattr(slurm, "submit", submit)
    assert asked.jobs.submit(job).code == 0
    assert kinds == ["Created", "Intent"]


def test_a_dry_run_leaves_no_files(asked: Asked, job: str, slurm: FakeBackend, surroundings: Path) -> None:
    assert asked.jobs.submit(job, dry_run=True).document["job_id"] is None
    assert (slurm.submissions, surroundings.parent.exists()) == ([], False)


@pytest.mark.parametrize(
    ("fails", "code", "words"),
    [("refuses", 4, "error E503: sbatch refuses --qos: no such qos\nhint: ask"), ("missing", 6, "error E501: ")],
)
def test_a_refusal_leaves_no_files(
    asked: Asked, job: str, slurm: FakeBackend, surroundings: Path, fails: str, code: int, words: str
) -> None:
    slurm.fails = fails
    asked.jobs.submit(job).ends(code, words)
    assert list(surroundings.iterdir()) == []


def test_a_refusal_restores_the_finished_job(asked: Asked, job: str, slurm: FakeBackend, demo: JobFolder) -> None:
    asked.jobs.submit(job)
    finish(demo, slurm)
    assert "SUCCEEDED" in asked.jobs.status("demo").out
    before = everything(demo.path.parent)
    slurm.fails = "refuses"
    assert (asked.jobs.submit(job).code, everything(demo.path.parent)) == (4, before)
    assert [path.name for path in demo.path.parent.iterdir()] == [demo.name]
    slurm.fails = ""
    assert asked.jobs.submit(job).code == 0


def test_without_an_answer_intent_and_name_are_kept(
    asked: Asked, job: str, slurm: FakeBackend, demo: JobFolder
) -> None:
    slurm.fails = "away"
    said = asked.jobs.submit(job)
    (tag,) = [record.tag for record in read(demo.journal).records if isinstance(record, Intent)]
    said.ends(6, "error E502: Slurm does not respond: timed out", "run `paislurm status demo` when", tag)
    asked.jobs.submit(job).ends(6, "error E513")
    slurm.fails = ""
    assert asked.jobs.submit(job).code == 4, "the first one may still be on its way"
    slurm.tags[tag] = JobId("33")
    slurm.observations[JobId("33")] = observed("PENDING", job_id="33")
    assert "job 33" in asked.jobs.status("demo").out
    assert asked.jobs.submit(job).code == 4


def test_a_job_with_unknown_submission_can_be_cancelled(
    asked: Asked, job: str, slurm: FakeBackend, demo: JobFolder
) -> None:
    slurm.fails = "away"
    asked.jobs.submit(job)
    (tag,) = [record.tag for record in read(demo.journal).records if isinstance(record, Intent)]
    said = asked.jobs.cancel("demo")
    assert (said.code, "as soon as it is known" in said.out) == (0, True)
    slurm.fails = ""
    slurm.tags[tag] = JobId("33")
    slurm.observations[JobId("33")] = observed("PENDING", job_id="33")
    for _ in range(2):
        assert "STOPPING" in asked.jobs.status("demo").out
        assert slurm.cancelled == ["33"]


def test_a_job_id_that_cannot_be_recorded_is_an_error_and_is_found_by_its_tag(
    asked: Asked, job: str, slurm: FakeBackend, demo: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        fails = Mock(side_effect=OSError(28, "No space left on device"))
        patch.setattr("paislurm.translator.state.job_folder.append", fails)
        said = asked.jobs.submit(job)
    said.ends(4, f"cannot write {demo.journal}: No space left on device; Slurm accepted job 101")
    assert ("job 101" in asked.jobs.status("demo").out, len(slurm.submissions)) == (True, 1)


def test_a_submit_that_stalls_until_its_job_is_given_up_and_removed_is_an_error(
    asked: Asked, job: str, slurm: FakeBackend, demo: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = slurm.submit

    def stalls(submission: Submission) -> JobId:
        job_id = submit(submission)
        shutil.rmtree(demo.path)
        return job_id

    monkeypatch.setattr(slurm, "submit", stalls)
    asked.jobs.submit(job).ends(
        4, f"another process has removed {demo.name} while this submit stalled; job 101 runs nothing"
    )
    assert slurm.cancelled == ["101"]
