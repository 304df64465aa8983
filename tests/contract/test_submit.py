"""Submitting: what Slurm refuses, and which faults of Slurm are reckoned with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from paislurm.translator.planning.slurm.hazards import _table
from tests.cluster.jobs import ONE_ATTEMPT, job_text, role
from tests.contract.site import Job

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

TWO = role("a", 1, "true") + role("b", 1, "true")


def described(site: Site, folder: Path, extras: str = "{}") -> Job:
    site.write(folder, "site.yaml", site.profile)
    return Job(site, folder, site.write(folder, "job.yaml", job_text("described", TWO, extras)))


def test_a_refusal_says_what_to_write(site: Site, folder: Path) -> None:
    job = described(site, folder, "{slurm: {nodelist: no-such-node}}")
    done = job.paislurm("submit", "job.yaml")
    assert done.returncode == 4, done.stderr
    assert "error E503: sbatch refuses --nodelist or --exclude: " in done.stderr
    assert "change `nodelist` or `exclude` under `extras.slurm`" in done.stderr
    assert not [*(job.home / "jobs").iterdir()]


def test_submit_knows_the_version_of_slurm(site: Site, folder: Path) -> None:
    done = described(site, folder).paislurm("submit", "--dry-run", "job.yaml")
    assert done.returncode == 0, done.stderr
    assert f"\nslurm       {site.slurm}\n" in done.stdout


def test_where_components_are_dangerous_roles_share_an_allocation(site: Site, folder: Path) -> None:
    version = next(ranges[0][0] for hazard, ranges in _table() if hazard.name == "crash-at-submit")
    job = site.submit(folder, TWO, settings=f"{ONE_ATTEMPT}slurmVersion: {version}\n")
    code, result = job.ended()
    assert (code, result["outcome"]) == (0, "succeeded")
    layout = json.loads((job.path / "plan.json").read_text())["layout"]
    assert layout["kind"] == "shared"
    assert f"with Slurm {version}, submitting a job of several components can crash slurmctld" in layout["reason"]
