"""A job that neither the queue nor the accounts know: the controller was killed before it had written the job down."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.backends.base import Observation
from paislurm.backends.slurm.job_states import FORGOTTEN
from paislurm.translator.monitor.claim import NO_CLAIM
from paislurm.translator.monitor.job_status import LOST_SECONDS
from paislurm.translator.monitor.poll import open_job, poll_jobs
from paislurm.translator.monitor.polling.shared_results import asking
from paislurm.translator.monitor.reconcile import UNKNOWN_SECONDS, needs_user
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import Cancelled, RetryPolicy
from tests.unit.report.made import RUN

from .jobs import CREATED, INTENT, NOW, SUBMITTED, FakeBackend, claim, job_folder, kinds, observed, stepped

LOST = NOW + LOST_SECONDS


def job(path: Path, host: str = os.uname().nodename, backend: str = "slurm") -> JobFolder:
    """Make the folder of a job that was submitted from a host, and that may be retried once."""
    run = replace(RUN, submitted_by=f"alice@{host}")
    policy = RetryPolicy(max_transient_retries=1)
    folder = job_folder(
        path, replace(CREATED, retry_policy=policy, run=run), INTENT, replace(SUBMITTED, backend=backend)
    )
    folder.script(0).write_text("#!/bin/bash\n")
    folder.secrets.mkdir()
    return folder


def states(folder: JobFolder, *moments: int) -> list[str]:
    """Return the states of the job at these moments, in which Slurm does not know it."""
    return [stepped(folder, FakeBackend(), now).job_status.state for now in moments]


def test_it_is_submitted_again_when_slurm_has_not_known_it_for_some_time(tmp_path: Path) -> None:
    folder, slurm = job(tmp_path), FakeBackend()
    view = stepped(folder, slurm, NOW)
    assert view.job_status.reason == (
        "Slurm does not know job 7, whose script has not begun; after 10 min, the attempt counts as lost"
    )
    assert not needs_user(view)
    assert stepped(folder, slurm, LOST - 1).job_status.state == "UNKNOWN"
    assert (kinds(folder), folder.claim(0).exists()) == (["Observed"], False)
    view = stepped(folder, slurm, LOST)
    assert kinds(folder) == ["Observed", "Retry", "Intent", "Submitted"]
    (retry,) = view.history.retries
    assert (retry.exit_code, retry.behaviour, retry.used_retries) == (-120, "transient", 0)
    assert retry.reason == "Slurm has lost the job before its script began"
    assert (folder.claim(0).read_text(), folder.secrets.exists()) == ("", True)


def test_its_next_attempt_may_be_lost_too_and_then_the_job_ends(tmp_path: Path) -> None:
    folder = job(tmp_path)
    assert states(folder, NOW, LOST, LOST + 61, LOST + 61 + LOST_SECONDS) == ["UNKNOWN", "WAITING", "UNKNOWN", "FAILED"]
    assert not folder.secrets.exists()


def test_a_late_start_of_a_lost_job_that_was_cancelled_does_nothing(tmp_path: Path) -> None:
    folder = job(tmp_path)
    folder.append(Cancelled(happened_at=NOW, attempt=0, user="alice", job_id="7"))
    assert states(folder, NOW, LOST) == ["UNKNOWN", "STOPPED"]
    assert folder.claim(0).exists()


def test_a_poll_that_knows_it_begins_the_time_anew(tmp_path: Path) -> None:
    folder = job(tmp_path)
    states(folder, NOW)
    stepped(folder, FakeBackend(observed("PENDING")), LOST - 1)
    assert states(folder, LOST, LOST + LOST_SECONDS - 1, LOST + LOST_SECONDS) == ["UNKNOWN", "UNKNOWN", "WAITING"]


def test_a_missing_answer_does_not_end_the_time(tmp_path: Path) -> None:
    folder, slurm = job(tmp_path), FakeBackend()
    stepped(folder, slurm, NOW)
    slurm.fails = "away"
    view = stepped(folder, slurm, LOST)
    assert view.job_status.reason == "Slurm did not know the job when it last responded"
    assert kinds(folder) == ["Observed"]


def test_it_waits_according_to_accounts_that_had_it_before_the_crash(tmp_path: Path) -> None:
    folder, slurm = job(tmp_path), FakeBackend(observed("PENDING", queued=False))
    assert stepped(folder, slurm, NOW).job_status.state == "UNKNOWN"
    assert stepped(folder, slurm, LOST).history.retries[0].exit_code == -120


def test_a_login_node_that_cannot_claim_the_attempt_does_not_begin_the_time_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, slurm = job(tmp_path), FakeBackend(observed("PENDING", queued=False))
    stepped(folder, slurm, NOW)
    with monkeypatch.context() as patch:
        patch.setattr("paislurm.translator.monitor.poll.is_claimable", lambda *_: False)
        stepped(folder, slurm, NOW + 60)
    assert kinds(folder) == ["Observed"]
    assert stepped(folder, slurm, LOST).history.retries[0].exit_code == -120


def test_a_job_that_runs_according_to_accounts_that_lag_is_not_lost(tmp_path: Path) -> None:
    folder, slurm = job(tmp_path), FakeBackend(observed("RUNNING", queued=False))
    assert {stepped(folder, slurm, now).job_status.state for now in (NOW, LOST)} == {"WAITING"}


def test_the_end_of_a_job_whose_components_the_accounts_never_number_counts_after_some_time(tmp_path: Path) -> None:
    folder = job(tmp_path)
    claim(folder, "7", NOW - 50)
    seen = observed("FAILED", queued=False, final=False, status=1, ended=NOW)
    slurm = FakeBackend(seen)
    assert stepped(folder, slurm, LOST - 1).job_status.state == "RUNNING"
    assert stepped(folder, slurm, LOST).job_status.code == 255


@pytest.mark.parametrize("seen", [(), (observed("RUNNING", tag="paislurm-2", name="demo"),)], ids=["lost", "reused"])
def test_another_job_that_has_claimed_the_attempt_is_followed(tmp_path: Path, seen: tuple[Observation, ...]) -> None:
    """Whether Slurm does not know the first one, or has given its number to another."""
    folder = job(tmp_path)
    claim(folder, "8", NOW - 50)
    assert stepped(folder, FakeBackend(*seen), NOW).history.job_id == "8"


GONE = observed(FORGOTTEN, final=True, ended=None)


@pytest.mark.parametrize("last", ["", "PENDING"])
def test_without_accounts_it_is_submitted_again_too(tmp_path: Path, last: str) -> None:
    """It was cancelled, or one poll missed it, or accounting refused an answer."""
    folder = job(tmp_path)
    if last:
        stepped(folder, FakeBackend(observed(last)), NOW - 1)
    assert stepped(folder, FakeBackend(GONE), NOW).job_status.state == "UNKNOWN"
    assert not stepped(folder, FakeBackend(GONE), LOST - 1).history.retries
    (retry,) = stepped(folder, FakeBackend(GONE), LOST).history.retries
    assert (retry.exit_code, retry.behaviour, retry.blamed_nodes) == (-120, "transient", ())
    assert folder.claim(0).read_text() == ""


def test_the_same_answer_counts_once(tmp_path: Path) -> None:
    """A step may use the last answer again, while the clock goes on."""
    folder = job(tmp_path)
    claim(folder, "7", NOW - 50)
    answer = asking(lambda _: FakeBackend(GONE), NOW)
    for now in (NOW, NOW + LOST_SECONDS):
        (view,) = poll_jobs([open_job(folder)], lambda _: FakeBackend(), now, answer)
        for record in view.news:
            folder.append(record)
        assert not view.job_status.ended


OURS, OTHERS = observed("RUNNING"), observed("RUNNING", tag="paislurm-2")


@pytest.mark.parametrize(
    ("later", "seen", "state"),
    [(-1, OURS, "WAITING"), (0, OURS, "RUNNING"), (0, OTHERS, "WAITING"), (0, GONE, "WAITING"), (1, OTHERS, "FAILED")],
)
def test_an_answer_from_before_the_submit_is_about_another_job(
    tmp_path: Path, later: int, seen: Observation, state: str
) -> None:
    """A controller that lost its state has given the number of one of the user's jobs to the next one.

    Journals have whole seconds: in the second of the submit, an answer counts only if it shows this job.
    """
    folder = job_folder(tmp_path, CREATED, INTENT, SUBMITTED)
    answer = asking(lambda _: FakeBackend(seen), SUBMITTED.happened_at + later)
    (view,) = poll_jobs([open_job(folder)], lambda _: FakeBackend(), NOW, answer, tasks=False)
    assert view.job_status.state == state


def test_a_script_that_has_begun_may_still_run(tmp_path: Path) -> None:
    folder = job(tmp_path)
    claim(folder, "7", NOW - 50)
    view = stepped(folder, FakeBackend(), NOW)
    assert (view.job_status.state, needs_user(view)) == ("UNKNOWN", True)
    assert (states(folder, LOST), kinds(folder)) == (["UNKNOWN"], [])


def test_a_script_that_begins_meanwhile_keeps_the_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network file system shows its claim late."""
    folder = job(tmp_path)
    states(folder, NOW)
    claim(folder, "7", NOW + 1)
    monkeypatch.setattr("paislurm.translator.monitor.poll.claim_of", lambda *_: NO_CLAIM)
    states(folder, LOST)
    assert (kinds(folder), folder.claim(0).read_text()) == (["Observed"], "7 0\n")


@pytest.mark.parametrize("where", [{"host": "login.other-cluster"}, {"backend": "ssh:login"}])
def test_it_is_left_to_its_user_where_its_slurm_or_its_claim_is_elsewhere(
    tmp_path: Path, where: dict[str, str]
) -> None:
    """With a home for two clusters, the other one's Slurm has never known it. A remote node sees no local claim."""
    folder = job(tmp_path, **where)
    view = stepped(folder, FakeBackend(), NOW)
    assert (needs_user(view), states(folder, LOST), kinds(folder)) == (True, ["UNKNOWN"], [])


def test_its_secrets_stay_for_its_next_attempt(tmp_path: Path) -> None:
    """It has waited for more than a month."""
    folder = job(tmp_path)
    states(folder, NOW + UNKNOWN_SECONDS)
    assert folder.secrets.exists()
