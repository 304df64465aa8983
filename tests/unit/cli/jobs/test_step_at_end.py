"""`monitor --once JOB`, the step that a batch script takes: it waits for another process, but not for long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.app.jobs import step_at_end
from paislurm.translator.app.jobs.refresh import monitor_lock
from paislurm.translator.app.session import Session

from ...monitor.jobs import FAILED, FakeBackend, kinds, leave_result, observed

if TYPE_CHECKING:
    from paislurm.translator.state.job_folder import JobFolder

    from ..running import Runner


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times for which a step has slept; it does not really."""
    slept: list[float] = []
    monkeypatch.setattr(step_at_end.time, "sleep", slept.append)
    return slept


def test_a_step_asks_slurm_nothing_while_the_job_still_runs_there(
    run: Runner, slurm: FakeBackend, folder: JobFolder, naps: list[float]
) -> None:
    slurm.observations[JobId("7")] = observed("RUNNING")
    leave_result(folder, **FAILED)
    assert run("monitor", "--once", "--", folder.name).code == 0
    assert (slurm.asked, kinds(folder), naps) == (0, ["Ended"], [])


def test_where_somebody_is_at_work_for_long_the_rest_is_left_to_cron(
    run: Runner, slurm: FakeBackend, folder: JobFolder, naps: list[float]
) -> None:
    assert slurm
    leave_result(folder, **FAILED)
    with monitor_lock(Session()).taken() as mine:
        assert mine
        said = run("monitor", "--once", "--", folder.name)
    assert said.code == 0
    assert "another process is at work, or has done what was due" in said.err
    assert (kinds(folder), len(naps)) == ([], step_at_end.TRIES - 1)


def test_what_another_process_has_done_is_not_waited_for(
    run: Runner, slurm: FakeBackend, folder: JobFolder, naps: list[float]
) -> None:
    assert slurm
    leave_result(folder, **FAILED)
    run("status", "demo")
    with monitor_lock(Session()).taken():
        assert run("monitor", "--once", "--", folder.name).code == 0
    assert naps == []


def test_a_job_that_is_gone_is_said(run: Runner, slurm: FakeBackend, folder: JobFolder) -> None:
    assert slurm and folder  # noqa: PT018 - they only have to be there
    said = run("monitor", "--once", "--", "alice~gone")
    assert said.code != 0
    assert "there is no job `alice~gone`" in said.err
