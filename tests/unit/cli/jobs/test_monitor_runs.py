"""Where a site forbids processes on login nodes, commands say when cron or scrontab seems to have stopped."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from paislurm.translator.app.jobs.monitor_runs import overdue_text
from paislurm.translator.app.session import Session
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.monitor_runs import FILE, MonitorRun, Who, add, monitor_runs

from ...monitor.jobs import FakeBackend, leave_result
from ..running import Runner

HOUR = 3600
NOW = 1_700_000_000
ENTRY = "*/5 * * * * paislurm monitor --once"


@pytest.fixture
def strict(profile: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A site that forbids processes on login nodes, and where nobody has a scrontab."""
    profile.write_text(profile.read_text().replace("monitor: {background: false}", "monitor: none"))
    monkeypatch.setenv("PATH", str(tmp_path))
    return profile


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


@pytest.mark.parametrize("command", ["status demo", "list"])
def test_commands_that_show_an_unfinished_job_warn_of_an_overdue_run(
    run: Runner, strict: Path, slurm: FakeBackend, folder: JobFolder, command: str
) -> None:
    assert strict and slurm and folder  # noqa: PT018 - they only have to be there
    assert "monitor --once" not in run(*command.split()).err
    add(Session().monitor_folder, MonitorRun(int(time.time()) - 2 * HOUR, "scrontab"))
    said = run(*command.split())
    assert (said.code, said.err) == (
        0,
        "warning: no `paislurm monitor --once` has run for 2 h: check whether the scrontab entry was cancelled\n",
    )


def test_finished_jobs_cause_no_warning_of_an_overdue_run(
    run: Runner, strict: Path, slurm: FakeBackend, folder: JobFolder
) -> None:
    assert strict and slurm  # noqa: PT018
    add(Session().monitor_folder, MonitorRun(int(time.time()) - 2 * HOUR, "scrontab"))
    leave_result(folder)
    run("monitor", "--once", "--", folder.name)
    for command in ("status demo", "list"):
        assert run(*command.split()).err == ""


@pytest.mark.parametrize(("job_id", "who"), [("7", "scrontab"), (None, "cron")])
def test_a_monitor_run_records_what_started_it(
    run: Runner, strict: Path, slurm: FakeBackend, monkeypatch: pytest.MonkeyPatch, job_id: str | None, who: str
) -> None:
    def refused(path: str, *_: object) -> int:
        raise OSError(path)

    assert strict and slurm  # noqa: PT018
    with monkeypatch.context() as patch:
        patch.delenv("SLURM_JOB_ID", raising=False)
        if job_id:
            patch.setenv("SLURM_JOB_ID", job_id)
        else:
            real = os.open
            patch.setattr(os, "open", lambda path, *rest: (refused if path == "/dev/tty" else real)(path, *rest))
        assert run("monitor", "--once").code == 0
    assert [each.who for each in monitor_runs(Session().monitor_folder)] == [who]


def test_other_sites_expect_no_monitor_runs(run: Runner, profile: Path, slurm: FakeBackend, folder: JobFolder) -> None:
    assert profile and slurm and folder  # noqa: PT018
    assert run("monitor", "--once").code == 0
    assert not (Session().monitor_folder / FILE).exists()


def test_a_monitor_step_for_one_job_is_not_recorded_as_a_run(
    run: Runner, strict: Path, slurm: FakeBackend, folder: JobFolder
) -> None:
    assert strict and slurm  # noqa: PT018
    leave_result(folder)
    said = run("monitor", "--once", folder.name)
    assert (said.code, folder.history().ended is not None) == (0, True)
    assert monitor_runs(Session().monitor_folder) == []


def test_monitor_with_a_job_requires_once(run: Runner, strict: Path, folder: JobFolder) -> None:
    assert strict
    said = run("monitor", folder.name)
    assert said.code == 2
    assert "JOB can only be used with --once" in said.err
