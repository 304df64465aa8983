"""Jobs that begin after others: when they are submitted, how they stand until then, and that none waits for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest
from msgspec.structs import replace

from paislurm.translator.monitor.attempt import SETTLED_SECONDS
from paislurm.translator.monitor.poll import open_job
from paislurm.translator.monitor.reconcile import Dependencies, reconcile
from paislurm.translator.state.journal import append
from paislurm.translator.state.records import Cancelled, Ended, RetryPolicy

from .jobs import (
    CREATED,
    ENDED,
    INTENT,
    NOW,
    SUBMITTED,
    FakeBackend,
    ended,
    job_folder,
    leave_result,
    stepped,
    waiting_job,
)

if TYPE_CHECKING:
    from pathlib import Path

    from paislurm.translator.monitor.poll import View
    from paislurm.translator.state.job_folder import JobFolder
    from paislurm.translator.state.records import Record

FIRST = replace(CREATED, job="first", retry_policy=RetryPolicy(retry_limit=1))


def first(jobs: Path, *records: Record) -> JobFolder:
    folder = job_folder(jobs, FIRST, INTENT, SUBMITTED, *records, name="alice~first")
    folder.script(0).write_text("#!/bin/bash\n")
    return folder


def step(backend: FakeBackend, *folders: JobFolder, now: int = NOW) -> list[View]:
    means = Dependencies(backend=lambda _: backend, clock=lambda: now, holds_lock=lambda: True, owns=lambda _: True)
    return reconcile([open_job(folder) for folder in folders], means)


@pytest.mark.parametrize("until", ["succeeded", "ended"])
def test_a_dependent_job_waits_for_all_retries_and_is_submitted_once(
    tmp_path: Path, until: Literal["succeeded", "ended"]
) -> None:
    one, two, backend = first(tmp_path), waiting_job(tmp_path, until=until), FakeBackend()
    leave_result(one, outcome="failed", exit_code=255, behaviour="unknown", reason="worker-0 failed")
    ended(backend)
    # The first attempt of the other fails, and is submitted again: that is no end.
    other, view = step(backend, one, two)
    assert (other.history.attempt, view.job_status.state, view.history.job_id) == (1, "WAITING", "")
    assert view.job_status.reason == f"after alice~first has {until}"
    assert [submission.attempt for submission in backend.submissions] == [1]
    one.result(1).write_bytes(one.result(0).read_bytes().replace(b'"failed"', b'"succeeded"').replace(b"255", b"0"))
    ended(backend, "101", "COMPLETED")
    other, view = step(backend, one, two)
    assert (other.job_status.state, view.history.job_id) == ("SUCCEEDED", "102")
    assert (view.job_status.state, view.job_status.reason) == ("WAITING", "attempt 0 has been submitted")
    assert [(each.job, each.attempt, each.tag) for each in backend.submissions][1:] == [
        ("second", 0, "paislurm-second@far")
    ]
    step(backend, one, two)
    assert len(backend.submissions) == 2


@pytest.mark.parametrize("state", ["FAILED", "STOPPED"])
def test_a_failed_dependency_ends_all_dependent_jobs(tmp_path: Path, state: str) -> None:
    one, backend = first(tmp_path, replace(ENDED, state=state)), FakeBackend()
    two = waiting_job(tmp_path)
    three = waiting_job(tmp_path, name="a-third", after=("second", NOW - 50))
    fourth = waiting_job(tmp_path, until="ended", name="a-fourth", after=("a-third", NOW - 50))
    views = step(backend, fourth, three, two, one)
    assert [view.job_status.state for view in views] == ["WAITING", "STOPPED", "STOPPED", state]
    assert views[2].job_status.reason == (
        f"never submitted: it was to start after alice~first has succeeded, and that job is {state} (exit code 255)"
    )
    assert views[1].job_status.reason.endswith("alice~second has succeeded, and that job is STOPPED (exit code -210)")
    assert views[0].history.job_id == "101"
    assert isinstance(open_job(two).history.ended, Ended)


def test_a_job_that_waits_for_any_end_starts_after_a_failure(tmp_path: Path) -> None:
    first(tmp_path, ENDED)
    assert stepped(waiting_job(tmp_path, until="ended"), FakeBackend(), NOW).history.job_id == "101"


def test_a_renamed_dependency_is_found(tmp_path: Path) -> None:
    one, two = first(tmp_path, replace(ENDED, state="SUCCEEDED", exit_code=0)), waiting_job(tmp_path)
    one.path.rename(tmp_path / "alice~first.1")
    job_folder(tmp_path, replace(FIRST, happened_at=NOW), INTENT, SUBMITTED, name="alice~first")
    assert stepped(two, FakeBackend(), NOW).history.job_id == "101"


@pytest.mark.parametrize(("until", "state"), [("succeeded", "STOPPED"), ("ended", "WAITING")])
def test_a_removed_dependency_has_ended_with_unknown_result(
    tmp_path: Path, until: Literal["succeeded", "ended"], state: str
) -> None:
    view = stepped(waiting_job(tmp_path, until=until), FakeBackend(), NOW)
    assert (view.job_status.state, bool(view.history.job_id)) == (state, until == "ended")
    assert until == "ended" or view.job_status.reason.endswith("and that job was removed")


def test_an_unreadable_dependency_is_waited_for(tmp_path: Path) -> None:
    one, two = first(tmp_path), waiting_job(tmp_path)
    one.journal.unlink()
    one.journal.symlink_to(one.journal.name)
    view = stepped(two, FakeBackend(), NOW)
    assert (view.job_status.state, view.job_status.ended) == ("WAITING", False)
    assert "cannot be read" in view.job_status.reason


def test_a_waiting_job_can_be_cancelled(tmp_path: Path) -> None:
    first(tmp_path)
    two, backend = waiting_job(tmp_path), FakeBackend()
    append(two.journal, Cancelled(happened_at=NOW, attempt=0, user="alice"))
    status = stepped(two, backend, NOW).job_status
    assert (status.state, status.code, backend.submissions) == ("STOPPED", -210, [])
    assert status.reason == "cancelled by alice before it was submitted"


def test_a_cancelled_dependency_is_reported_before_its_end_is_recorded(tmp_path: Path) -> None:
    one, two = first(tmp_path), waiting_job(tmp_path)
    append(one.journal, Cancelled(happened_at=NOW, attempt=0, user="alice"))
    view = stepped(two, FakeBackend(), NOW)
    assert (view.job_status.state, view.job_status.reason) == (
        "WAITING",
        "after alice~first has succeeded; alice~first was cancelled",
    )


def test_a_lost_first_attempt_is_submitted_again_with_the_same_tag(tmp_path: Path) -> None:
    """As after kill -9 between the intent and the answer: the tag tells whether the backend took it."""
    first(tmp_path, replace(ENDED, state="SUCCEEDED", exit_code=0))
    two, backend = waiting_job(tmp_path), FakeBackend()
    append(two.journal, replace(INTENT, happened_at=NOW, tag="paislurm-second@far"))
    assert (stepped(two, backend, NOW).history.job_id, backend.submissions) == ("", [])
    backend.tags = {}
    later = NOW + SETTLED_SECONDS + 1
    assert stepped(two, backend, later).history.job_id == "101"
    assert [each.tag for each in backend.submissions] == ["paislurm-second@far"]


def test_nothing_is_submitted_without_the_lock(tmp_path: Path) -> None:
    first(tmp_path, replace(ENDED, state="SUCCEEDED", exit_code=0))
    backend = FakeBackend()
    view = stepped(waiting_job(tmp_path), backend, NOW, held=lambda: False)
    assert (backend.submissions, view.job_status.state) == ([], "WAITING")
    assert view.job_status.reason == "all dependencies are fulfilled; it is submitted next"
