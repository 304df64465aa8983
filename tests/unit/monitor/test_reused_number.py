"""A controller that crashes forgets its latest jobs, and gives their numbers to others. Observed on 22.05 and 26.05."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paislurm.translator.monitor import poll
from paislurm.translator.monitor.claim import NO_CLAIM
from paislurm.translator.monitor.facts import View
from paislurm.translator.state.journal_records import Cancelled, Record

from .jobs import FAILED, NOW, SUBMITTED, FakeBackend, claim, ended, job, kinds, leave_result, observed, stepped, task


def test_a_job_whose_script_never_began_does_not_succeed_with_another_job(tmp_path: Path) -> None:
    folder, backend = job(tmp_path, max_transient_retries=1), FakeBackend(observed("PENDING"))
    ended(backend, state="COMPLETED")
    view = stepped(folder, backend, NOW)
    assert kinds(folder)[-3:] == ["Retry", "Intent", "Submitted"]
    (retry,) = view.history.retries
    assert (retry.exit_code, retry.behaviour) == (-120, "transient")
    assert retry.reason == "Slurm reports COMPLETED, but the script never began: job 7 may be another one"


def test_a_script_that_began_and_left_no_result_has_succeeded(tmp_path: Path) -> None:
    folder, backend = job(tmp_path), FakeBackend(observed("PENDING"))
    claim(folder, "7", NOW - 50)
    ended(backend, state="COMPLETED")
    assert stepped(folder, backend, NOW).job_status.state == "SUCCEEDED"


def reused(state: str = "RUNNING", tag: str = "paislurm-2", name: str = "demo", command: str = "") -> FakeBackend:
    """Return a backend whose job 7 is another job, or looks like one."""
    return FakeBackend(observed(state, tag=tag, name=name, command=command))


def script(name: str, attempt: int = 0) -> str:
    return f"/home/alice/.paislurm/jobs/{name}/attempts/{attempt}/job.sbatch"


@pytest.mark.parametrize("state", ["PENDING", "RUNNING", "CANCELLED", "TIMEOUT"])
@pytest.mark.parametrize(
    ("tag", "name", "command"),
    [
        ("paislurm-2", "demo", script("alice~demo")),
        ("paislurm-1.1", "demo", ""),
        ("", "interactive", ""),
        ("", "x-demo", script("alice~other")),
        ("", "demo", script("alice~demo", attempt=1)),
        ("", "x-demo", "/home/alice/train.sh 0 paislurm"),
    ],
)
def test_a_job_whose_number_is_another_jobs_is_submitted_again(
    tmp_path: Path, state: str, tag: str, name: str, command: str
) -> None:
    folder, backend = job(tmp_path, max_transient_retries=1), reused(state, tag, name, command)
    view = stepped(folder, backend, NOW)
    assert kinds(folder) == ["Retry", "Intent", "Submitted"]
    assert view.history.retries[0].reason == (
        "Slurm has lost the job before its script began, and job 7 is another one"
    )
    assert backend.cancelled == []
    # A script that begins late finds the attempt taken.
    assert folder.claim(0).exists()


@pytest.mark.parametrize(
    ("tag", "name", "command"),
    [
        pytest.param("paislurm-1", "renamed", "", id="renamed by its user"),
        pytest.param("", "x-demo", script("{folder}"), id="name and comment of the site"),
        pytest.param("", "x-demo", "/root/.paislurm/remote/demo.1/attempts/0/job.sbatch", id="at a login node"),
        pytest.param("", "demo", "/var/spool/site/copy.sh", id="a wrapper of the site submits a copy"),
        pytest.param("", "demo", "", id="accounts without comments"),
        pytest.param("", "", "", id="a backend that names no job"),
    ],
)
def test_a_job_with_its_tag_its_script_or_its_name_is_the_same(
    tmp_path: Path, tag: str, name: str, command: str
) -> None:
    folder = job(tmp_path)
    backend = reused("PENDING", tag, name, command.format(folder=folder.name))
    assert stepped(folder, backend, NOW).job_status.state == "WAITING"
    assert kinds(folder) == ["Observed"]


def test_a_job_that_began_needs_neither(tmp_path: Path) -> None:
    folder = job(tmp_path)
    claim(folder, "7", NOW - 50)
    stepped(folder, reused("PENDING", "", "renamed"), NOW)
    assert kinds(folder) == ["Observed"]


def test_a_job_that_was_submitted_after_ours_began_is_another_one(tmp_path: Path) -> None:
    """Its accounts keep no comment, and another user has cancelled it."""
    folder = job(tmp_path)
    claim(folder, "7", NOW - 50)
    seen = observed("CANCELLED", raw_state="CANCELLED by 1000", name="other", submitted=NOW - 49, final=True)
    view = stepped(folder, FakeBackend(seen), NOW)
    assert (view.job_status.ended, view.job_status.reason) == (
        False,
        "Slurm has forgotten the job; the result does not exist yet",
    )


def test_a_job_that_began_before_its_number_was_reused_is_retried_after_a_minute(tmp_path: Path) -> None:
    """Its controller has lost it, which is no node's failure. Nodes have that time to kill it, or to leave a result."""
    folder, backend = job(tmp_path, max_transient_retries=1), reused("COMPLETED")
    claim(folder, "7", NOW - 50)
    reason = stepped(folder, backend, NOW).job_status.reason
    assert reason == "Slurm has forgotten the job; the result does not exist yet"
    assert not stepped(folder, backend, NOW + 59).history.retries
    (retry,) = stepped(folder, backend, NOW + 60).history.retries
    assert (retry.exit_code, retry.behaviour, retry.blamed_nodes) == (-101, "transient", ())
    assert retry.reason == f"Slurm has lost the job, job 7 is another one, and there is no result in {folder.path}"


def test_an_attempt_that_begins_as_its_loss_is_noticed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network file system showed the claim late."""
    folder, backend = job(tmp_path, max_transient_retries=1), reused()
    monkeypatch.setattr(poll, "claim_of", lambda *_: NO_CLAIM)
    claim(folder, "7", NOW - 1)
    stepped(folder, backend, NOW)
    assert kinds(folder) == []


def test_a_result_with_the_code_of_a_lost_job_is_no_lost_job(tmp_path: Path) -> None:
    folder = job(tmp_path, max_transient_retries=1)
    claim(folder, "7", NOW - 50)
    leave_result(folder, **(FAILED | {"exit_code": -120, "behaviour": "transient"}))
    stepped(folder, FakeBackend(observed("RUNNING")), NOW)
    assert kinds(folder)[0] == "Retry"


INTERRUPTED = {"outcome": "interrupted", "exit_code": -210, "behaviour": "stop"}


def interrupted(path: Path, *records: Record, submitted: int | None = NOW - 10, **changes: Any) -> View:
    """Step twice with a script that was told to end at NOW - 10, and whose job's number is another one's."""
    folder = job(path, SUBMITTED, *records, max_transient_retries=1)
    claim(folder, "7", NOW - 50)
    leave_result(folder, **INTERRUPTED | changes)
    slurm = FakeBackend(observed("CANCELLED", raw_state="CANCELLED by 0", tag="paislurm-2", submitted=submitted))
    stepped(folder, slurm, NOW)
    return stepped(folder, slurm, NOW + 10)


def test_a_script_that_a_node_ended_for_another_job_of_its_number_is_retried(tmp_path: Path) -> None:
    """The node still ran it when Slurm, which had lost it, started the other job there."""
    (retry,) = interrupted(tmp_path).history.retries
    assert (retry.exit_code, retry.behaviour) == (-101, "transient")
    assert retry.reason == "Slurm has lost the job, and its script was told to end when job 7 was another one"


@pytest.mark.parametrize("submitted", [NOW - 9, None])
def test_a_script_that_was_ended_before_its_number_was_reused_may_have_been_preempted(
    tmp_path: Path, submitted: int | None
) -> None:
    """As well as cancelled: Slurm does not know. So it is also if nobody knows when its number was reused."""
    (retry,) = interrupted(tmp_path, submitted=submitted).history.retries
    assert (retry.exit_code, retry.behaviour) == (-101, "transient")
    assert retry.reason == "the job was ended from outside, and Slurm does not know it"


RUNS = {"tasks": [task(0), task(1, state="STOPPED", ended_at=None, exit_status=None)]}
CANCELLED = Cancelled(happened_at=NOW - 11, attempt=0, user="alice", job_id="7")


@pytest.mark.parametrize(
    ("records", "changes", "state", "code", "words"),
    [
        pytest.param((), RUNS, "RUNNING", None, "", id="some of its tasks may still run"),
        pytest.param((CANCELLED,), {}, "STOPPED", -210, "the job was cancelled by alice", id="cancelled"),
    ],
)
def test_it_is_not_retried_at_once_if(
    tmp_path: Path, records: tuple[Record, ...], changes: dict[str, Any], state: str, code: int, words: str
) -> None:
    status = interrupted(tmp_path, *records, **changes).job_status
    assert (status.state, status.code, words in status.reason) == (state, code, True)
