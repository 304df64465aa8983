"""`monitor --once JOB`, the step that a batch script takes: it waits for another process, but not for long."""

from __future__ import annotations

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.app.jobs import polling
from paislurm.translator.app.jobs.refresh import monitor_lock
from paislurm.translator.app.session import Session
from paislurm.translator.state.job_folder import JobFolder

from ...monitor.jobs import FAILED, FakeBackend, kinds, leave_result, observed
from ..running import Runner


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times for which a step has slept; it does not really."""
    slept: list[float] = []
    monkeypatch.setattr(polling.time, "sleep", slept.append)
    return slept


def test_a_monitor_step_does_not_poll_slurm_while_its_job_runs(
    run: Runner, slurm: FakeBackend, folder: JobFolder, naps: list[float]
) -> None:
    slurm.observations[JobId("7")] = observed("RUNNING")
    leave_result(folder, **FAILED)
    assert run("monitor", "--once", "--", folder.name).code == 0
    assert (slurm.asked, kinds(folder), naps) == (0, ["Ended"], [])


def test_if_another_process_keeps_the_lock_the_work_is_left_to_cron(
    run: Runner, slurm: FakeBackend, folder: JobFolder, naps: list[float]
) -> None:
    assert slurm
    leave_result(folder, **FAILED)
    with monitor_lock(Session()).taken() as mine:
        assert mine
        said = run("monitor", "--once", "--", folder.name)
    assert said.code == 0
    assert "another process is monitoring it, or nothing is due" in said.err
    assert (kinds(folder), len(naps)) == ([], polling.TRIES - 1)


def test_work_done_by_another_process_is_not_waited_for(
    run: Runner, slurm: FakeBackend, folder: JobFolder, naps: list[float]
) -> None:
    assert slurm
    leave_result(folder, **FAILED)
    run("status", "demo")
    with monitor_lock(Session()).taken():
        assert run("monitor", "--once", "--", folder.name).code == 0
    assert naps == []
