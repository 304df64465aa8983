"""What a command shows while another process has the monitor's lock: no end that a later command may take back."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from paislurm.translator.app.jobs import refresh
from paislurm.translator.app.session import Session
from paislurm.translator.monitor.facts import View
from paislurm.translator.monitor.job_files import read_files
from paislurm.translator.monitor.poll import evaluate, open_job
from paislurm.translator.monitor.polling.shared_results import NOT_ASKED
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import Cancelled, RetryPolicy
from tests.unit.monitor.jobs import (
    CREATED,
    FAILED,
    INTENT,
    NOW,
    SUBMITTED,
    FakeBackend,
    ended,
    job_folder,
    leave_result,
    observed,
)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    backend = FakeBackend(observed("RUNNING"))
    ended(backend, ended=NOW - 90)
    monkeypatch.setattr(Session, "backend", lambda *_: backend)
    monkeypatch.setattr(refresh, "is_own", lambda *_: True)
    return Session(home=tmp_path, clock=lambda: NOW)


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    policy = RetryPolicy(max_transient_retries=1)
    return job_folder(tmp_path / "jobs", replace(CREATED, retry_policy=policy), INTENT, SUBMITTED)


def shown(session: Session, folder: JobFolder) -> View:
    (view,) = refresh.views_of(session, [folder])
    return view


def test_an_unrecorded_end_is_not_shown_as_one(session: Session, folder: JobFolder) -> None:
    with refresh.monitor_lock(session).taken() as mine:
        assert mine
        status = shown(session, folder).job_status
        assert (status.state, status.code, status.ended) == ("RUNNING", None, False)
        holder = session.lock_owner.strip()
        assert f"left no result; {holder} has the monitor's lock and records this end" in status.reason
    assert shown(session, folder).job_status.state == "FAILED"


def test_an_end_is_recorded_by_the_command_that_learns_it_when_the_lock_is_free(
    session: Session, folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another command has the lock for a moment."""
    with ExitStack() as other:
        assert other.enter_context(refresh.monitor_lock(session).taken())
        monkeypatch.setattr(refresh.time, "sleep", lambda _: other.close())
        view = shown(session, folder)
    assert (view.job_status.state, folder.history().ended is not None) == ("FAILED", True)


def test_an_end_that_the_result_contains_is_shown_at_once(session: Session, folder: JobFolder) -> None:
    leave_result(folder, **FAILED)
    with refresh.monitor_lock(session).taken():
        assert shown(session, folder).job_status.state == "FAILED"


def test_a_cancelled_retry_is_shown_as_an_end_only_when_recorded(session: Session, folder: JobFolder) -> None:
    """The other process has read the journal before the cancel, and may still record the retry."""
    cancelled = Cancelled(happened_at=NOW, attempt=0, user="alice")
    leave_result(folder, **FAILED | {"exit_code": 137, "behaviour": "transient"})
    before = open_job(folder)
    folder.append(cancelled)
    with refresh.monitor_lock(session).taken():
        assert shown(session, folder).job_status.state == "STOPPING"
        files = read_files(before, late=False)
        folder.append(*evaluate(files, NOT_ASKED, NOW, session.backend, tasks=True).news)
        assert shown(session, folder).job_status.state == "STOPPING"
    assert shown(session, folder).job_status.state == "STOPPED"


def test_an_end_that_nobody_can_record_is_shown(
    session: Session, folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh.Lock, "take", Mock(side_effect=OSError(28, "No space left on device")))
    assert shown(session, folder).job_status.state == "FAILED"
