"""What a command shows while another process has the monitor's lock: no end that a later command may take back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from paislurm.translator.app.jobs import refresh
from paislurm.translator.app.session import Session
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

if TYPE_CHECKING:
    from pathlib import Path

    from paislurm.translator.monitor.poll import View
    from paislurm.translator.state.job_folder import JobFolder


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    backend = FakeBackend(observed("RUNNING"))
    ended(backend, ended=NOW - 90)
    monkeypatch.setattr(Session, "backend", lambda *_: backend)
    monkeypatch.setattr(refresh, "is_own", lambda *_: True)
    return Session(home=tmp_path, clock=lambda: NOW)


def shown(session: Session, folder: JobFolder) -> View:
    (view,) = refresh.views_of(session, [folder])
    return view


def test_an_unrecorded_end_is_not_shown_as_one(session: Session, tmp_path: Path) -> None:
    folder = job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED)
    other = refresh.monitor_lock(session)
    with other.taken() as mine:
        assert mine
        status = shown(session, folder).job_status
        assert (status.state, status.code, status.ended) == ("RUNNING", None, False)
        assert status.reason.endswith("left no result; another process is about to record this end")
    assert shown(session, folder).job_status.state == "FAILED"


def test_an_end_that_the_result_contains_is_shown_at_once(session: Session, tmp_path: Path) -> None:
    folder = job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED)
    leave_result(folder, **FAILED)
    with refresh.monitor_lock(session).taken():
        assert shown(session, folder).job_status.state == "FAILED"


def test_an_end_that_nobody_can_record_is_shown(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED)

    def full(*_: object) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(refresh.Lock, "take", full)
    assert shown(session, folder).job_status.state == "FAILED"
