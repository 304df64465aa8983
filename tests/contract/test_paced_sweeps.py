"""Sweeps of which only some jobs are at Slurm: whoever dies, none is lost, none runs twice, and none is too much."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.children import child
from tests.cluster.instance import ALICE
from tests.cluster.jobs import role
from tests.contract.limits import administer, limits
from tests.contract.site import LONGEST

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Job, Site

FAST = "monitor: {background: false, maxPollInterval: 2}\n"
MEMBERS, AT_ONCE = 20, 5
LIVES = (1.5, 2.5, 1.0, 3.0, 2.0)
"""Seconds after which monitors are killed."""


def swept(site: Site, folder: Path, extras: str = "") -> Job:
    """Describe a job that notes its seed once it runs, and runs for a moment."""
    command = f"echo <% $parameters.seed %> >>{folder}/ran; sleep 1"
    slurm = f"{{slurm: {{{extras}}}}}\nparameters: {{seed: 1}}"
    return site.described(folder, "paced", role("w", 1, command), slurm, FAST)


def at_slurm(job: Job) -> list[str]:
    """Return the jobs of the sweep that Slurm has, without those whose script has written its result."""
    shown = job.site.run("squeue", "--noheader", "--me", "--states=all", "--format=%j %T").stdout.splitlines()
    living = [words.split() for words in shown if words.startswith("paced-seed")]
    results = job.home / "jobs"
    return [
        name
        for name, state in living
        if state not in ("COMPLETED", "FAILED")
        and not (results / f"{job.site.user}~{name}/attempts/0/result.json").exists()
    ]


def states(job: Job) -> list[str]:
    return [row["state"] for row in json.loads(job.paislurm("list", "--group", "paced", "--json").stdout)["jobs"]]


def test_a_paced_sweep_survives_the_deaths_of_its_monitors(site: Site, folder: Path) -> None:
    job = swept(site, folder)
    sweep = ("submit", "paced.yaml", "--sweep", f"seed=1..{MEMBERS}", "--at-once", str(AT_ONCE))
    done = job.paislurm(*sweep)
    assert done.returncode == 0, done.stderr
    most = [len(at_slurm(job))]
    monitor = site.command(["paislurm", "monitor"], cwd=folder, env=job.env)
    for life in LIVES:
        with child(monitor, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            until = time.monotonic() + life
            while time.monotonic() < until:
                most.append(len(at_slurm(job)))
        for lock in (job.home / "monitor").glob("lock*"):
            # A minute later nobody has heard of its owner.
            os.utime(lock, (time.time() - 300, time.time() - 300))
    with child(monitor, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + LONGEST
        while process.poll() is None and time.monotonic() < until:
            most.append(len(at_slurm(job)))
    assert max(most) == AT_ONCE
    assert states(job) == ["SUCCEEDED"] * MEMBERS
    assert sorted(map(int, (folder / "ran").read_text().split())) == [*range(1, MEMBERS + 1)]


@pytest.mark.exclusive
def test_a_limit_on_submitted_jobs_holds_a_sweep_back(site: Site, folder: Path) -> None:
    """All of them end without an error."""
    with limits(site.administrator):
        administer(
            site.administrator, f"sacctmgr modify user {ALICE} where account=tight set maxsubmitjobs=3 maxjobs=3"
        )
        job = swept(site, folder, "account: tight, time: 5")
        done = job.paislurm("submit", "paced.yaml", "--sweep", "seed=1..9")
        assert done.returncode == 0, done.stderr
        assert "group paced: 9 jobs submitted, 6 of them wait here\n" in done.stderr
        waited = job.paislurm("wait", "paced")
        assert waited.returncode == 0, waited.stderr
        assert states(job) == ["SUCCEEDED"] * 9
        assert len((folder / "ran").read_text().split()) == 9
