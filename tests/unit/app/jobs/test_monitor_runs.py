"""`monitor --once`, by cron or as a step of a batch script, where a site forbids processes on login nodes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.app.jobs import polling
from paislurm.translator.app.jobs.job_sites import overdue_text
from paislurm.translator.app.jobs.listing import JobFilter
from paislurm.translator.app.jobs.refresh import monitor_lock
from paislurm.translator.app.session import Session
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.monitor_runs import FILE, MonitorRun, Who, add, monitor_runs

from ...cli.running import SITE
from ...monitor.jobs import FAILED, FakeBackend, kinds, leave_result, observed
from ..asked import Answer, Asked

pytestmark = pytest.mark.usefixtures("slurm", "strict")

HOUR = 3600
NOW = 1_700_000_000
ENTRY = "*/5 * * * * paislurm monitor --once"


@pytest.fixture
def strict(profile: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A site that forbids processes on login nodes, and where nobody has a scrontab."""
    profile.write_text(SITE.replace("monitor: {background: false}", "monitor: none"), encoding="utf-8")
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize(
    ("who", "entries", "words"),
    [
        ("scrontab", [], "for 2 h: check whether the scrontab entry was cancelled"),
        ("cron", [], "for 2 h: check whether the crontab still has its line"),
        ("submit", [], "for 2 h: add it to scrontab or cron, for example every 5 minutes"),
        ("cron", ["#SCRON -p batch", f"#DISABLED: {ENTRY}"], "its scrontab entry was cancelled; run `scrontab -e`"),
        ("scrontab", ["# my own", ENTRY], "although it has a scrontab entry: check it with `squeue --me`"),
        ("scrontab", [f"# {ENTRY}"], "check whether the scrontab entry was cancelled"),
        ("scrontab", ["* * * * * backup --once"], "check whether the scrontab entry was cancelled"),
    ],
)
def test_an_overdue_monitor_run_has_a_message(who: Who, entries: list[str], words: str) -> None:
    text = overdue_text(MonitorRun(NOW, who), NOW + 2 * HOUR, entries)
    assert text.startswith("no `paislurm monitor --once` has run for 2 h")
    assert words in text


@pytest.mark.usefixtures("folder")
def test_a_list_of_unfinished_jobs_warns_of_an_overdue_run(asked: Asked) -> None:
    def listed() -> Answer:
        return asked.jobs.say_doubts(asked.jobs.listed(JobFilter()).value)

    assert "monitor --once" not in listed().err
    add(Session().monitor_folder, MonitorRun(int(time.time()) - 2 * HOUR, "scrontab"))
    listed().ends(0, "no `paislurm monitor --once` has run for 2 h: check whether the scrontab entry was cancelled\n")


def test_finished_jobs_cause_no_warning_of_an_overdue_run(asked: Asked, folder: JobFolder) -> None:
    add(Session().monitor_folder, MonitorRun(int(time.time()) - 2 * HOUR, "scrontab"))
    leave_result(folder)
    asked.jobs.monitor(folder.name)
    assert asked.jobs.say_doubts(asked.jobs.listed(JobFilter()).value).err == ""


@pytest.mark.parametrize(("job_id", "who"), [("7", "scrontab"), (None, "cron")])
def test_a_monitor_run_records_what_started_it(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, job_id: str | None, who: str
) -> None:
    def refused(path: str, *_: object) -> int:
        raise OSError(path)

    real = os.open
    with monkeypatch.context() as patch:
        patch.delenv("SLURM_JOB_ID", raising=False)
        if job_id:
            patch.setenv("SLURM_JOB_ID", job_id)
        patch.setattr(os, "open", lambda path, *rest: (refused if path == "/dev/tty" else real)(path, *rest))
        assert asked.jobs.monitor().code == 0
    assert [each.who for each in monitor_runs(Session().monitor_folder)] == [who]


@pytest.mark.usefixtures("folder")
def test_other_sites_expect_no_monitor_runs(asked: Asked, profile: Path) -> None:
    profile.write_text(SITE, encoding="utf-8")
    assert asked.jobs.monitor().code == 0
    assert not (Session().monitor_folder / FILE).exists()


def test_a_monitor_step_for_one_job_is_not_recorded_as_a_run(asked: Asked, folder: JobFolder) -> None:
    leave_result(folder)
    said = asked.jobs.monitor(folder.name)
    assert (said.code, folder.history().ended is not None) == (0, True)
    assert monitor_runs(Session().monitor_folder) == []


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times for which a step has slept; it does not really."""
    slept: list[float] = []
    monkeypatch.setattr(polling.time, "sleep", slept.append)
    return slept


def test_a_monitor_step_does_not_poll_slurm_while_its_job_runs(
    asked: Asked, slurm: FakeBackend, folder: JobFolder, naps: list[float]
) -> None:
    slurm.observations[JobId("7")] = observed("RUNNING")
    leave_result(folder, **FAILED)
    assert asked.jobs.monitor(folder.name).code == 0
    assert (slurm.asked, kinds(folder), naps) == (0, ["Ended"], [])


def test_a_monitor_step_waits_for_another_process_but_not_for_long(
    asked: Asked, folder: JobFolder, naps: list[float]
) -> None:
    """Then the work is left to cron; what the other process has done is not waited for."""
    leave_result(folder, **FAILED)
    with monitor_lock(Session()).taken() as mine:
        assert mine
        said = asked.jobs.monitor(folder.name)
    assert (said.code, kinds(folder), len(naps)) == (0, [], polling.TRIES - 1)
    assert "another process is monitoring it, or nothing is due" in said.err
    asked.jobs.status("demo")
    with monitor_lock(Session()).taken():
        assert asked.jobs.monitor(folder.name).code == 0
    assert len(naps) == polling.TRIES - 1
