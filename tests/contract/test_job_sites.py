"""A job is looked after by the site profile that `--site` named when it was submitted, whoever does it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import role
from tests.cluster.processes import wait_until
from tests.contract.site import LONGEST, Job

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

EXTRAS = "{jobStatusChangeNotification: {failed: true}}"
STAYS_AWAY = "monitor: {background: false}\n"


@dataclass
class Named(Job):
    """A job of a user who has no profile: `submit --site` names one, and no other command does."""

    @property
    def env(self) -> dict[str, str]:
        return {"PAISLURM_HOME": str(self.home), "XDG_CONFIG_HOME": str(self.folder)}

    @property
    def events(self) -> list[str]:
        """The events that the notifier of the profile was given."""
        file = self.folder / "events"
        return [json.loads(line)["event"] for line in file.read_text().splitlines()] if file.exists() else []

    def journal(self) -> str:
        return (self.path / "journal.jsonl").read_text()


def submitted(site: Site, folder: Path, settings: str, retries: int = 0) -> Named:
    """Submit a job that fails, with a profile that has a notifier."""
    notifier = f"notifications: {{command: [sh, -c, 'cat >>{folder}/events']}}\n"
    named = site.described(folder, "named", role("a", 1, "exit 7"), EXTRAS, settings + notifier, retries=retries)
    job = Named(site, folder, named.file, named.name)
    done = job.paislurm("submit", "--site", "site.yaml", "named.yaml")
    assert done.returncode == 0, done.stderr
    return job


@pytest.mark.parametrize("who", ["background", "once", "end"])
def test_the_notifier_of_the_profile_is_run(site: Site, folder: Path, who: str) -> None:
    settings = {"background": "monitor: {maxPollInterval: 5}\n", "once": STAYS_AWAY, "end": "monitor: none\n"}[who]
    job = submitted(site, folder, settings)
    if who == "once":
        wait_until((job.attempt() / "result.json").exists, "the job's result", LONGEST)
        assert job.paislurm("monitor", "--once").returncode == 0
        assert job.events == ["failed"]
    else:
        wait_until(lambda: '"notified"' in job.journal(), f"the end and its notification ({who})", LONGEST)
    assert job.events == ["failed"]


def test_max_attempts_per_hour_limits_retries(site: Site, folder: Path) -> None:
    """`status` does the monitor's work: it submits the first retry, and no second one."""
    job = submitted(site, folder, f"retry: {{maxAttemptsPerHour: 1}}\n{STAYS_AWAY}", retries=2)

    def held_back() -> bool:
        return "limit on retries per hour" in str(job.status()["reason"])

    wait_until(held_back, "the second retry is held back", LONGEST)
    assert (job.attempt(1) / "result.json").exists()
    assert not job.attempt(2).exists()
    assert job.paislurm("cancel", job.name).returncode == 0


def test_missing_site_profile_is_reported(site: Site, folder: Path) -> None:
    job = submitted(site, folder, STAYS_AWAY)
    profile = folder / "site.yaml"
    profile.rename(folder / "moved.yaml")
    gone = f"the site profile {profile} with which the job was submitted is gone; no notifications are sent"
    wait_until((job.attempt() / "result.json").exists, "the job's result", LONGEST)
    for words in (("status", job.name), ("monitor", "--once")):
        done: subprocess.CompletedProcess[str] = job.paislurm(*words)
        assert done.returncode == 0
        assert gone in " ".join(done.stderr.split()), words
    assert job.events == []
    assert job.paislurm("monitor", "--once", "--site", "moved.yaml").returncode == 0
    assert job.events == ["failed"]
    assert gone not in job.paislurm("status", job.name).stderr
