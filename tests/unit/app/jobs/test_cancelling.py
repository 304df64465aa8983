"""Cancelling: which jobs Slurm ends, what is recorded, and what of another job that has the number."""

from __future__ import annotations

import errno
import os

import pytest

from paislurm.backends.base import JobId, Observation
from paislurm.translator.app.jobs import cancelling
from paislurm.translator.app.session import user_name
from paislurm.translator.errors import Diagnostic, FolderError, RejectedError
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import read
from paislurm.translator.state.journal_records import Cancelled, Ended, Record

from ...cli.running import ME
from ...monitor.jobs import FakeBackend, claim, observed
from ..asked import Asked


def test_cancel_cancels_the_job(asked: Asked, slurm: FakeBackend, folder: JobFolder) -> None:
    slurm.observations[JobId("7")] = observed("RUNNING")
    said = asked.jobs.cancel("demo")
    assert (said.code, said.out) == (0, f"{ME} is being cancelled (job 7)\n")
    assert slurm.cancelled == ["7"]
    records = read(folder.journal).records
    assert [record.user for record in records if isinstance(record, Cancelled)] == [user_name()]
    assert f"cancelled by {user_name()}" in asked.jobs.status("demo").out
    slurm.observations[JobId("7")] = observed("CANCELLED", final=True)
    assert asked.jobs.cancel("demo").document[0]["message"] == f"{ME} has already ended: STOPPED"
    assert slurm.cancelled == ["7"]
    assert sum(isinstance(record, Ended) for record in read(folder.journal).records) == 1


@pytest.mark.parametrize("began", [False, True])
def test_a_cancel_does_not_reach_another_job_with_the_number(
    asked: Asked, slurm: FakeBackend, folder: JobFolder, began: bool
) -> None:
    slurm.observations[JobId("7")] = observed("RUNNING", tag="paislurm-2")
    if began:
        claim(folder, "7", 1)
    said = asked.jobs.cancel("demo")
    assert (said.code, slurm.cancelled) == (0, [])
    message = f"{ME} is being cancelled: Slurm has lost job 7, and another job has its number\n"
    assert said.out == (message if began else f"{ME} has already ended: FAILED\n")
    assert any(isinstance(record, Cancelled | Ended) for record in read(folder.journal).records)


@pytest.mark.parametrize("began", [False, True])
def test_a_cancel_that_may_have_reached_another_job_says_so(
    asked: Asked, slurm: FakeBackend, folder: JobFolder, monkeypatch: pytest.MonkeyPatch, began: bool
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
    said = asked.jobs.cancel("demo")
    assert names == [(("7",), {"names": {"7": "x-demo"}})]
    lost = f"{ME} is being cancelled: Slurm has lost job 7, and another job has its number now"
    assert (said.code, said.out) == (0, f"{lost}: if the cancel has ended that one, submit it again\n")


def test_a_cancel_without_an_answer_names_the_job(
    asked: Asked, slurm: FakeBackend, folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller is away, and may give the number to another job before it is back."""
    names: list[object] = []
    slurm.fails = "away"
    monkeypatch.setattr(slurm, "cancel", lambda *ids, **given: names.append((ids, given)))
    said = asked.jobs.cancel("demo")
    assert (said.code, said.out) == (0, f"{ME} is being cancelled (job 7)\n")
    assert names == [(("7",), {"names": {"7": folder.history().job}})]


def is_cancelled(folder: JobFolder) -> bool:
    return any(isinstance(record, Cancelled) for record in read(folder.journal).records)


def test_several_jobs_are_cancelled_by_one_call(asked: Asked, three: list[JobFolder], slurm: FakeBackend) -> None:
    said = asked.jobs.cancel("train-*", "old")
    assert said.out.splitlines() == [
        f"{user_name()}~train-1 is being cancelled (job 11)",
        f"{user_name()}~train-2 is being cancelled (job 12)",
        f"{user_name()}~old has already ended: FAILED",
    ]
    assert (said.code, slurm.cancelled, slurm.cancel_calls) == (0, ["11", "12"], 1)
    assert all(is_cancelled(folder) for folder in three[:2])
    old = asked.jobs.cancel("train-*", "old").document[2]
    assert (old["job"], old["state"]) == ("old", "FAILED")


@pytest.mark.parametrize(("observation", "code"), [(observed("RUNNING"), 4), (observed("CANCELLED", final=True), 0)])
def test_a_cancel_that_cannot_be_recorded_is_an_error_unless_the_job_ends(
    asked: Asked,
    three: list[JobFolder],
    slurm: FakeBackend,
    monkeypatch: pytest.MonkeyPatch,
    observation: Observation,
    code: int,
) -> None:
    """A node may have failed before scancel: without the record, the job is then retried."""
    real = JobFolder.append

    def append(folder: JobFolder, record: Record) -> None:
        if isinstance(record, Cancelled) and folder == three[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(folder, record)

    def cancel(*job_ids: JobId, **_: object) -> None:
        slurm.cancelled += job_ids
        slurm.observations[JobId("11")] = observation

    monkeypatch.setattr(JobFolder, "append", append)
    monkeypatch.setattr(slurm, "cancel", cancel)
    said = asked.jobs.cancel("train-*")
    assert (said.code, slurm.cancelled) == (code, ["11", "12"])
    message = f"cannot write {three[0].journal}: No space left on device; Slurm cancels job 11"
    assert (message in said.err) is (code != 0)
    assert f"{user_name()}~train-2 is being cancelled (job 12)" in said.out + said.err


@pytest.mark.usefixtures("three")
def test_a_refused_cancellation_does_not_stop_the_others(
    asked: Asked, slurm: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:

    def check_own(folder: JobFolder, _: str) -> None:
        if folder.name.endswith("~old"):
            raise FolderError(Diagnostic(code="E541", message="cancel is for your own jobs"))

    def cancel(*job_ids: JobId, **_: object) -> None:
        if "11" in job_ids:
            raise RejectedError(Diagnostic(code="E503", message="scancel: job 11: Access denied"))
        slurm.cancelled += job_ids

    monkeypatch.setattr(slurm, "cancel", cancel)
    monkeypatch.setattr(cancelling, "check_own", check_own)
    said = asked.jobs.cancel("train-*", "old")
    assert (said.code, slurm.cancelled) == (4, ["12"])
    for words in (f"{user_name()}~train-2 is being cancelled (job 12)", "job 11: Access denied", "E541"):
        assert words in said.err


def test_an_outage_is_reported_once_for_all_jobs(asked: Asked, three: list[JobFolder], slurm: FakeBackend) -> None:
    slurm.fails = "away"
    said = asked.jobs.cancel("train-*")
    assert (said.code, said.err.count("Slurm does not respond")) == (6, 1)
    assert not any(is_cancelled(folder) for folder in three)
