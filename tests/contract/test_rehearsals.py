"""Rehearsals of jobs with Slurm: a plain user breaks them, and Slurm and the policies act."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.contract.site import Job, merged
from tests.rehearsed_jobs import RIGHT, rehearsed_text

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

SETTINGS = "monitor: {background: false, maxPollInterval: 2}\n"
GUARDED = {"EXTRAS": "onTimeout: retry, progress: {within: 10s, warmUp: 1s, action: end},"}


def rehearsed(site: Site, folder: Path, job: dict[str, str], *faults: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Rehearse a job, and return the exit status and the results by fault."""
    site.write(folder, "site.yaml", merged(site.profile, SETTINGS))
    text = rehearsed_text(job).replace("name: steps", f"name: {folder.name[:40]}")
    here = Job(site, folder, site.write(folder, "steps.yaml", text))
    words = [word for fault in faults for word in ("--fault", fault)]
    done = here.paislurm("rehearse", "steps.yaml", "--backend", "slurm", "--time", "10", "--json", *words)
    assert done.stdout, done.stderr
    return done.returncode, {each["fault"]: each for each in json.loads(done.stdout)["rehearsals"]}


def test_a_job_that_resumes_continues_after_each_fault(site: Site, folder: Path) -> None:
    code, found = rehearsed(site, folder, RIGHT["one file"] | GUARDED, "term", "kill", "stall")
    assert {fault: each["resuming"]["verdict"] for fault, each in found.items()} == dict.fromkeys(
        ("term", "kill", "stall"), "continued"
    ), found
    assert code == 0
    assert "the job sets `onTimeout`" in found["term"]["retry_rule"]
    assert "137" in found["kill"]["first_end"]
    assert "is stopped by a signal" in found["stall"]["first_end"]


def test_a_lost_node(site: Site, folder: Path) -> None:
    code, found = rehearsed(site, folder, RIGHT["one file"], "node")
    assert (code, found["node"]["resuming"]["verdict"]) == (0, "continued"), found
    assert "stand in for a lost node" in found["node"]["remark"]
