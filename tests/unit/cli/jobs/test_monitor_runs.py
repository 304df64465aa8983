"""`monitor --once`, by cron or as a step of a batch script, where a site forbids processes on login nodes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.app.jobs import polling
from paislurm.translator.app.jobs.job_sites import overdue_text
from paislurm.translator.app.jobs.refresh import monitor_lock
from paislurm.translator.app.session import Session
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.monitor_runs import FILE, MonitorRun, Who, add, monitor_runs

from ...monitor.jobs import FAILED, FakeBackend, kinds, leave_result, observed
from ..running import SITE, Runner

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
@pytest.mark.parametrize("command", ["status demo", "list"])
def test_commands_that_show_an_unfinished_job_warn_of_an_overdue_run(run: Runner, command: str) -> None:
    assert "monitor --once" not in run(*command.split()).err
    add(Session().monitor_folder, MonitorRun(int(time.time()) - 2 * HOUR, "scrontab"))
    said = run(*command.split())
    assert (said.code, said.err) == (
        0,
        "warning: no `paislurm monitor --once` has run for 2 h: check whether the scrontab entry was cancelled\n",
    )


def test_finished_jobs_cause_no_warning_of_an_overdue_run(run: Runner, folder: JobFolder) -> None:
    add(Session().monitor_folder, MonitorRun(int(time.time()) - 2 * HOUR, "scrontab"))
    leave_result(folder)
    run("monitor", "--once", "--", folder.name)
    for command in ("status demo", "list"):
        assert run(*command.split()).err == ""


@pytest.mark.parametrize(("job_id", "who"), [("7", "scrontab"), (None, "cron")])
def test_a_monitor_run_records_what_started_it(
    run: Runner, monkeypatch: pytest.MonkeyPatch, job_id: str | None, who: str
) -> None:
    def refused(path: str, *_: object) -> int:
        raise OSError(path)

    real = os.open
    with monkeypatch.context() as patch:
        patch.delenv("SLURM_JOB_ID", raising=False)
        if job_id:
            patch.setenv("SLURM_JOB_ID", job_id)
        patch.setattr(os, "open", lambda path, *rest: (refused if path == "/dev/tty" else real)(path, *rest))
        assert run("monitor", "--once").code == 0
    assert [each.who for each in monitor_runs(Session().monitor_folder)] == [who]


@pytest.mark.usefixtures("folder")
def test_other_sites_expect_no_monitor_runs(run: Runner, profile: Path) -> None:
    profile.write_text(SITE, encoding="utf-8")
    assert run("monitor", "--once").code == 0
    assert not (Session().monitor_folder / FILE).exists()


def test_a_monitor_step_for_one_job_is_not_recorded_as_a_run(run: Runner, folder: JobFolder) -> None:
    leave_result(folder)
    said = run("monitor", "--once", folder.name)
    assert (said.code, folder.history().ended is not None) == (0, True)
    assert monitor_runs(Session().monitor_folder) == []


def test_monitor_with_a_job_requires_once(run: Runner, folder: JobFolder) -> None:
    said = run("monitor", folder.name)
    assert (said.code, "JOB can only be used with --once" in said.err) == (2, True)


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


def test_a_monitor_step_waits_for_another_process_but_not_for_long(
    run: Runner, folder: JobFolder, naps: list[float]
) -> None:
    """Then the work is left to cron; what the other process has done is not waited for."""
    leave_result(folder, **FAILED)
    with monitor_lock(Session()).taken() as mine:
        assert mine
        said = run("monitor", "--once", "--", folder.name)
    assert (said.code, kinds(folder), len(naps)) == (0, [], polling.TRIES - 1)
    assert "another process is monitoring it, or nothing is due" in said.err
    run("status", "demo")
    with monitor_lock(Session()).taken():
        assert run("monitor", "--once", "--", folder.name).code == 0
    assert len(naps) == polling.TRIES - 1
