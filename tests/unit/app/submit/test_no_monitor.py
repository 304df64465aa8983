"""`submit` where the site forbids any process on its login nodes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from paislurm.translator.app.session import Session, own_call
from paislurm.translator.app.submit import background
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.monitor_runs import FILE, MonitorRun, add, monitor_runs

from ...cli.running import JOB, job_file
from ...monitor.jobs import FakeBackend
from ..asked import Asked

pytestmark = pytest.mark.usefixtures("slurm")
LINE = "no monitor runs (`monitor: none`): each attempt submits the next one at its end"


@pytest.fixture
def strict(profile: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site that forbids processes on login nodes: none is started."""
    profile.write_text(profile.read_text().replace("monitor: {background: false}", "monitor: none"))
    monkeypatch.setattr(background, "_start", Mock(side_effect=AssertionError("a monitor was left behind")))
    return profile


@pytest.mark.usefixtures("strict")
def test_submit_starts_no_process_and_says_what_is_needed(
    asked: Asked, job: str, slurm: FakeBackend, demo: JobFolder
) -> None:
    said = asked.jobs.submit(job)
    assert (said.code, len(slurm.submissions)) == (0, 1)
    (line,) = (line for line in said.err.splitlines() if line.startswith(LINE))
    assert line.endswith("run `paislurm monitor --once` by scrontab or cron")
    assert "\nPSL_MONITOR_AFTER='failure'" in demo.script(0).read_text()
    assert [each.who for each in monitor_runs(Session().monitor_folder)] == ["submit"]
    assert asked.jobs.submit(job, suffix="-2", dry_run=True).document["monitor"] == "none"
    assert (
        "monitor     at the end of each attempt that fails; cron or scrontab for everything else"
        in asked.compiler.plan(job).out
    )


def test_the_monitor_call_contains_program_home_and_profile(
    asked: Asked, job: str, strict: Path, demo: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PAISLURM_SITE")
    monkeypatch.setenv("PYTHONPATH", ":/nowhere")
    monkeypatch.chdir(strict.parent)
    assert asked.jobs.submit(job, site=strict.name).code == 0
    words = (demo.path / "monitor-call").read_bytes().decode().split("\0")
    home = f"PAISLURM_HOME={os.environ['PAISLURM_HOME']}"
    assert words == [home, f"PAISLURM_SITE={strict}", "PYTHONPATH=/nowhere", *own_call(), "monitor", "--once", "--", ""]


@pytest.mark.parametrize("more", ["jobRetryCount: 1\n", "extras: {jobStatusChangeNotification: {failed: true}}\n"])
@pytest.mark.usefixtures("strict")
def test_with_notifications_every_end_runs_a_monitor_step(
    asked: Asked, demo: JobFolder, tmp_path: Path, more: str
) -> None:
    assert asked.jobs.submit(job_file(tmp_path, JOB + more)).code == 0
    after = "end" if "Notification" in more else "failure"
    assert f"\nPSL_MONITOR_AFTER='{after}'" in demo.script(0).read_text()


def test_scripts_of_other_sites_have_no_monitor_step(asked: Asked, job: str, demo: JobFolder) -> None:
    assert "no process" not in asked.jobs.submit(job).err
    assert not (demo.path / "monitor-call").exists()
    text = demo.script(0).read_text()
    assert [word for word in ("\nPSL_MONITOR_AFTER=", "take_monitor_step() {") if word in text] == []


def test_a_monitor_run_counts_even_if_only_a_job_profile_expects_it(
    asked: Asked, job: str, strict: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cron calls `monitor --once` without the profile that `submit --site` named."""
    monkeypatch.delenv("PAISLURM_SITE")
    assert asked.jobs.submit(job, site=str(strict)).code == 0
    assert asked.jobs.monitor().code == 0
    assert [each.who for each in monitor_runs(Session().monitor_folder)][1:] in (["cron"], ["person"], ["scrontab"])


def test_a_site_with_a_monitor_again_expects_no_monitor_runs(asked: Asked, job: str) -> None:
    add(Session().monitor_folder, MonitorRun(int(time.time()) - 7300, "cron"))
    assert "monitor --once" not in asked.jobs.submit(job).err
    assert not (Session().monitor_folder / FILE).exists()


@pytest.mark.usefixtures("strict")
def test_a_refused_submission_does_not_mention_monitor_runs(asked: Asked, job: str, slurm: FakeBackend) -> None:
    slurm.fails = "refuses"
    said = asked.jobs.submit(job)
    assert (said.code, LINE in said.err) == (4, False)
