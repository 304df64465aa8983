"""A job that is submitted once more is the same job, and `diff` says so."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.cluster.jobs import ONE_ATTEMPT, job_text, role
from tests.contract.site import Job, merged

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

TEXT = job_text("again", role("a", 2, "echo lr is <% $parameters.lr %>; pwd"), "{slurm: {workdir: submit}}")


def test_job_can_be_submitted_again_from_its_run_record(site: Site, folder: Path) -> None:
    there = site.own(folder / "there")
    profile = site.write(folder, "then.yaml", merged(site.profile, ONE_ATTEMPT))
    file = site.write(folder, "job.yaml", f"{TEXT}parameters: {{lr: 0.1}}\n")
    job = Job(site, folder, file, name="again", more={"PAISLURM_SITE": str(profile)})
    done = site.run("paislurm", "submit", "../job.yaml", "--set", "lr=0.2", cwd=there, env=job.env)
    assert done.returncode == 0, done.stderr
    assert job.ended()[0] == 0
    first = job.log("0-a/1")
    assert first.splitlines() == ["lr is 0.2", str(there)]
    run = job.status()["run"]
    assert run["parameters"] == {"lr": "0.2"}
    assert [each["file"] for each in run["site_profiles"]] == [str(profile)]
    site.write(folder, "job.yaml", TEXT.replace("echo", "false"))
    job.more = {"PAISLURM_SITE": ""}
    done = job.paislurm("submit", "--again", "again")
    assert done.returncode == 0, done.stderr
    assert f"{file} has changed since: using the recorded copy" in done.stderr
    newer = replace(job, name="again@2")
    assert newer.ended()[0] == 0
    assert newer.log("0-a/1") == first
    same = job.paislurm("diff", "again@1", "again")
    assert (same.returncode, same.stdout) == (0, ""), same.stderr
    other = json.loads(job.paislurm("submit", "--json", "--again", "again", "--set", "lr=0.3", "--suffix=-2").stdout)
    second = replace(job, name=other["job"])
    assert second.ended()[0] == 0
    assert second.log("0-a/1").splitlines() == ["lr is 0.3", str(there)]
    differs = job.paislurm("diff", "again", "again-2")
    assert differs.returncode == 1
    assert "\n-echo lr is 0.2; pwd\n+echo lr is 0.3; pwd\n" in differs.stdout
