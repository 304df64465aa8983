"""Looking at a job asks the backend once; a step writes down what is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.monitor.attempt import SETTLED_SECONDS
from paislurm.translator.monitor.poll import open_job, poll_backends, poll_jobs
from paislurm.translator.state.journal import read
from paislurm.translator.state.records import Ended, Observed, Submitted

from .jobs import CREATED, ENDED, INTENT, NOW, SUBMITTED, FakeBackend, job_folder, leave_result, observed, stepped

if TYPE_CHECKING:
    from pathlib import Path


def test_an_end_is_written_down_and_not_asked_for_again(tmp_path: Path) -> None:
    folder = job_folder(tmp_path, CREATED, INTENT, SUBMITTED)
    leave_result(folder)
    backend = FakeBackend(observed("COMPLETED", final=True))
    first = stepped(folder, backend, NOW)
    assert (first.job_status.state, backend.queries) == ("SUCCEEDED", 1)
    second = stepped(folder, backend, NOW)
    assert second.job_status == first.job_status
    assert second.tasks == first.tasks
    assert backend.queries == 1
    (end,) = [record for record in read(folder.journal).records if isinstance(record, Ended)]
    assert (end.state, end.exit_code, end.completed, end.backend_state) == ("SUCCEEDED", 0, 2, "COMPLETED")


def test_states_are_written_down_when_they_change(tmp_path: Path) -> None:
    folder = job_folder(tmp_path, CREATED, INTENT, SUBMITTED)
    for state in ("PENDING", "PENDING", "RUNNING", "RUNNING"):
        stepped(folder, FakeBackend(observed(state)), NOW)
    seen = [record.backend_state for record in read(folder.journal).records if isinstance(record, Observed)]
    assert seen == ["PENDING", "RUNNING"]


@pytest.mark.parametrize("fails", ["away", "refuses"])
def test_a_backend_without_an_answer_changes_nothing(tmp_path: Path, fails: str) -> None:
    folder = job_folder(tmp_path, CREATED, INTENT, SUBMITTED)
    backend = FakeBackend()
    backend.fails = fails
    before = folder.journal.read_bytes()
    view = stepped(folder, backend, NOW)
    assert view.backend_error
    assert not view.job_status.ended
    assert folder.journal.read_bytes() == before


def test_a_job_of_which_only_the_intent_is_known_is_found_by_its_tag(tmp_path: Path) -> None:
    folder = job_folder(tmp_path, CREATED, INTENT)
    backend = FakeBackend(observed("RUNNING", job_id="55"))
    backend.tags[INTENT.tag] = JobId("55")
    view = stepped(folder, backend, NOW)
    assert view.history.job_id == "55"
    assert view.observation is not None
    (record,) = [record for record in read(folder.journal).records if isinstance(record, Submitted)]
    assert (record.job_id, record.task_count) == ("55", 2)


def test_an_intent_that_led_to_nothing_ends_when_that_is_certain(tmp_path: Path) -> None:
    folder = job_folder(tmp_path, CREATED, INTENT)
    backend = FakeBackend()
    soon = stepped(folder, backend, INTENT.happened_at + SETTLED_SECONDS)
    assert (soon.job_status.state, soon.job_status.ended) == ("WAITING", False)
    backend.fails = "away"
    away = stepped(folder, backend, INTENT.happened_at + 10 * SETTLED_SECONDS)
    assert (away.job_status.ended, bool(away.backend_error)) == (False, True)
    backend.fails = ""
    late = stepped(folder, backend, INTENT.happened_at + SETTLED_SECONDS + 1)
    assert (late.job_status.state, late.job_status.code, late.job_status.ended) == ("FAILED", -120, True)


@pytest.mark.parametrize(
    ("left", "why"),
    [
        (b'{"version": 2}', "`outcome` is none that there is"),
        (b'{"version": 1, "outcome": "failed", "code": 1}', "it was written by another version"),
    ],
)
def test_damaged_files_are_told_and_not_believed(tmp_path: Path, left: bytes, why: str) -> None:
    folder = job_folder(tmp_path, CREATED, INTENT, SUBMITTED)
    with folder.journal.open("ab") as file:
        file.write(b'{"ver')
    folder.result(0).write_bytes(left)
    view = stepped(folder, FakeBackend(observed("RUNNING")), NOW)
    assert view.job_status.state == "WAITING"
    assert view.read_errors == (
        "journal.jsonl: its last line is torn",
        f"result.json cannot be read: {why}",
    )


def test_a_journal_that_cannot_be_written_does_not_hinder_looking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = job_folder(tmp_path, CREATED, INTENT, SUBMITTED)

    def fails(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("paislurm.translator.state.job_folder.append", fails)
    view = stepped(folder, FakeBackend(observed("CANCELLED", final=True, raw_state="CANCELLED by 0")), NOW)
    assert (view.job_status.state, view.job_status.reason) == ("STOPPED", "the job was cancelled by root")


def test_one_question_for_all_living_jobs(tmp_path: Path) -> None:
    backend = FakeBackend(observed("RUNNING"))
    histories = [
        job_folder(tmp_path, CREATED, INTENT, SUBMITTED, *end, name=f"alice~{k}").history()
        for k, end in enumerate([(), (), (ENDED,)])
    ]
    answers = poll_backends(histories, lambda _: backend)
    assert backend.queries == 1
    assert list(answers.observations) == [("slurm", "7")]


def test_looking_alone_writes_nothing(tmp_path: Path) -> None:
    folder = job_folder(tmp_path, CREATED, INTENT, SUBMITTED)
    before = folder.journal.read_bytes()
    (view,) = poll_jobs([open_job(folder)], lambda _: FakeBackend(observed("NODE_FAIL", final=True)), NOW)
    assert (view.job_status.state, view.job_status.code) == ("FAILED", -1001)
    assert [type(record) for record in view.news] == [Ended]
    assert folder.journal.read_bytes() == before
