"""A controller that crashes forgets its latest jobs, and gives their numbers to others. Observed on 22.05 and 26.05."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .jobs import NOW, FakeBackend, claim, ended, job, kinds, observed, stepped

if TYPE_CHECKING:
    from pathlib import Path


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
