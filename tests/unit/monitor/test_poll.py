"""Looking at a job asks the backend once; a step writes down what is new."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.app.job_view import job_line
from paislurm.translator.monitor.attempt import SETTLED_SECONDS
from paislurm.translator.monitor.poll import open_job, poll_jobs
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import read
from paislurm.translator.state.journal_records import Cancelled, Ended, Observed, Submitted

from .jobs import (
    CREATED,
    ENDED,
    INTENT,
    NOW,
    SUBMITTED,
    FakeBackend,
    claim,
    ended,
    failed_job,
    job_folder,
    leave_result,
    observed,
    stepped,
    task,
)


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    return job_folder(tmp_path, CREATED, INTENT, SUBMITTED)


def test_an_end_found_in_files_is_recorded_without_a_poll(folder: JobFolder) -> None:
    leave_result(folder)
    backend = FakeBackend()
    backend.fails = "away"
    first = stepped(folder, backend, NOW)
    second = stepped(folder, backend, NOW)
    assert (first.job_status.state, first.backend_error, backend.queries) == ("SUCCEEDED", "", 0)
    assert (second.job_status, second.tasks) == (first.job_status, first.tasks)
    (end,) = [record for record in read(folder.journal).records if isinstance(record, Ended)]
    assert (end.state, end.exit_code, end.completed, end.backend_state) == ("SUCCEEDED", 0, 2, "")


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": "interrupted", "exit_code": -210},
        {"outcome": "failed", "exit_code": 255, "tasks": [task(0), task(1, ended_at=None)]},
        {"outcome": "failed", "exit_code": -1001},
        {"outcome": "failed", "exit_code": -1402},
    ],
)
def test_the_backend_is_polled_if_files_do_not_suffice(folder: JobFolder, changes: dict[str, Any]) -> None:
    leave_result(folder, **changes)
    backend = FakeBackend(observed("RUNNING"))
    backend.fails = "away"
    assert not stepped(folder, backend, NOW).job_status.ended
    backend.fails = ""
    stepped(folder, backend, NOW)
    assert backend.queries == 2


def test_finished_jobs_are_not_polled_again(folder: JobFolder) -> None:
    backend = FakeBackend(observed("NODE_FAIL", final=True))
    assert stepped(folder, backend, NOW).job_status == stepped(folder, backend, NOW).job_status
    assert backend.queries == 1


def test_a_cancelled_job_ends_when_its_script_reports_the_end(tmp_path: Path) -> None:
    asked = Cancelled(happened_at=NOW - 9, attempt=0, user="alice", job_id="7")
    folder, other = (job_folder(tmp_path / name, CREATED, INTENT, SUBMITTED) for name in "ab")
    folder.append(asked)
    other.append(replace(asked, job_id="6"))
    for each in (folder, other):
        leave_result(each, outcome="interrupted", exit_code=-210)
    status = stepped(folder, FakeBackend(observed("RUNNING")), NOW).job_status
    assert (status.state, status.code, status.reason) == ("STOPPED", -210, "the job was cancelled by alice")
    assert not stepped(other, FakeBackend(observed("RUNNING")), NOW).job_status.ended


@pytest.mark.parametrize(
    ("owner", "time", "state"),
    [("7", NOW + 1, "RUNNING"), ("7", NOW - 1, "PENDING"), ("8", NOW + 1, "PENDING"), ("", NOW + 1, "PENDING")],
)
def test_a_claim_means_running_unless_a_later_poll_says_pending(
    folder: JobFolder, owner: str, time: int, state: str
) -> None:
    claim(folder, owner, time)
    view = stepped(folder, FakeBackend(observed("PENDING")), NOW)
    assert view.observation is not None
    assert view.observation.state == state
    assert [record.backend_state for record in read(folder.journal).records if isinstance(record, Observed)] == [state]


def test_a_claim_gives_the_job_id_if_sbatch_did_not_answer(tmp_path: Path) -> None:
    folder = job_folder(tmp_path, CREATED, INTENT)
    claim(folder, "55", NOW)
    backend = FakeBackend()
    backend.fails = "away"
    view = stepped(folder, backend, NOW)
    assert (view.history.job_id, view.job_status.ended) == ("55", False)


def test_states_are_recorded_when_they_change(folder: JobFolder) -> None:
    for state in ("PENDING", "PENDING", "RUNNING", "RUNNING"):
        stepped(folder, FakeBackend(observed(state)), NOW)
    seen = [record.backend_state for record in read(folder.journal).records if isinstance(record, Observed)]
    assert seen == ["PENDING", "RUNNING"]


@pytest.mark.parametrize("fails", ["away", "refuses"])
def test_a_backend_without_an_answer_changes_nothing(folder: JobFolder, fails: str) -> None:
    backend = FakeBackend()
    backend.fails = fails
    before = folder.journal.read_bytes()
    view = stepped(folder, backend, NOW)
    assert (bool(view.backend_error), view.job_status.ended) == (True, False)
    assert folder.journal.read_bytes() == before


def test_a_job_with_only_an_intent_is_found_by_its_tag(tmp_path: Path) -> None:
    folder = job_folder(tmp_path, CREATED, INTENT)
    backend = FakeBackend(observed("RUNNING", job_id="55"))
    backend.tags[INTENT.tag] = JobId("55")
    view = stepped(folder, backend, NOW)
    assert view.history.job_id == "55"
    assert view.observation is not None
    (record,) = [record for record in read(folder.journal).records if isinstance(record, Submitted)]
    assert (record.job_id, record.task_count) == ("55", 2)


def test_an_intent_without_a_slurm_job_ends_once_that_is_certain(tmp_path: Path) -> None:
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
        (b'{"version": 2}', "Object missing required field `job_id`"),
        (b'{"version": 1, "outcome": "failed", "code": 1}', "written by an earlier version of paislurm"),
    ],
)
def test_damaged_files_are_reported_and_ignored(folder: JobFolder, left: bytes, why: str) -> None:
    with folder.journal.open("ab") as file:
        file.write(b'{"ver')
    folder.result(0).write_bytes(left)
    view = stepped(folder, FakeBackend(observed("RUNNING")), NOW)
    assert view.job_status.state == "WAITING"
    assert view.read_errors == (
        "journal.jsonl: the last line is incomplete",
        f"result.json cannot be read: {why}",
    )


def test_an_unwritable_journal_does_not_prevent_polling(folder: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:

    def fails(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("paislurm.translator.state.job_folder.append", fails)
    view = stepped(folder, FakeBackend(observed("CANCELLED", final=True, raw_state="CANCELLED by 0")), NOW)
    assert (view.job_status.state, view.job_status.reason) == ("STOPPED", "the job was cancelled by root")


def test_one_poll_covers_all_unfinished_jobs(tmp_path: Path) -> None:
    backend = FakeBackend(observed("RUNNING"))
    jobs = [
        open_job(job_folder(tmp_path, CREATED, INTENT, SUBMITTED, *end, name=f"alice~{k}"))
        for k, end in enumerate([(), (), (ENDED,)])
    ]
    views = poll_jobs(jobs, lambda _: backend, NOW)
    assert backend.queries == 1
    assert [view.observation is not None for view in views] == [True, True, False]


def test_a_read_only_poll_writes_nothing(folder: JobFolder) -> None:
    before = folder.journal.read_bytes()
    (view,) = poll_jobs([open_job(folder)], lambda _: FakeBackend(observed("NODE_FAIL", final=True)), NOW)
    assert (view.job_status.state, view.job_status.code) == ("FAILED", -1001)
    assert [type(record) for record in view.news] == [Ended]
    assert folder.journal.read_bytes() == before


def test_time_between_attempts_does_not_count_as_run_time(tmp_path: Path) -> None:
    """Whoever looks knows that the attempt has ended, be it that a monitor has yet to submit the next one."""
    folder, backend = failed_job(tmp_path)
    ended(backend, started=NOW - 60)
    (view,) = poll_jobs([open_job(folder)], lambda _: backend, NOW)
    assert view.history.is_between_attempts
    assert job_line(view).elapsed(NOW) is None
    assert view.history.retries[0].started_at == NOW - 60


def test_a_job_that_is_removed_while_it_is_read_is_not_shown_with_an_earlier_state(folder: JobFolder) -> None:
    opened = open_job(folder)
    shutil.rmtree(folder.path)
    (view,) = poll_jobs([opened], lambda _: FakeBackend(), NOW)
    assert (view.job_status.state, view.backend_error) == ("UNKNOWN", f"{folder.name} has been removed")
