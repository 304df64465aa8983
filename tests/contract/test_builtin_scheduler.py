"""A site whose scheduler is sched/builtin: sbatch refuses a component for each role; all share an allocation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paislurm.translator.site.load import load_site
from tests.cluster.jobs import ONE_ATTEMPT, job_text, role
from tests.cluster.kinds import KINDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

KIND = KINDS["builtin"]
PROFILE = """\
partitions: {normal: {nodes: [{count: 2, cpus: 16, memoryMB: 1000000}]}}
defaultPartition: normal
time: {grace: 5, killWait: 5}
"""
TWO = role("a", 1, "echo ran") + role("b", 1, "echo ran")
BUILTIN = "scheduler: {type: builtin}\n"


def test_a_job_of_several_roles_runs_as_one_allocation(site: Site, folder: Path) -> None:
    job = site.submit(folder, TWO, settings=ONE_ATTEMPT + BUILTIN)
    assert "#SBATCH hetjob" not in job.script()
    assert job.ended()[0] == 0
    assert [job.log("0-a/0"), job.log("1-b/0")] == ["ran\n"] * 2


def test_het_layout_is_refused_if_the_profile_omits_the_scheduler(site: Site, folder: Path) -> None:
    job = site.described(folder, "two", TWO, settings=ONE_ATTEMPT + "layout: het\n")
    checked = job.paislurm("site", "check")
    assert checked.returncode == 4
    assert "error E465: the cluster starts no job with a component for each role: its scheduler is" in checked.stderr
    refused = job.paislurm("submit", "two.yaml")
    assert refused.returncode == 4
    assert (
        "error E503: sbatch refuses: Batch job submission failed: Requested operation not supported" in refused.stderr
    )
    assert "write `scheduler: {type: builtin}` into the site profile" in refused.stderr


def test_detected_profile_rejects_the_het_layout(site: Site, folder: Path) -> None:
    done = site.run("paislurm", "site", "detect", "--output", "site.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert load_site((folder / "site.yaml").read_bytes(), file="site.yaml").scheduler.type == "builtin"
    site.write(folder, "job.yaml", job_text("two", TWO))
    site.write(folder, "het.yaml", job_text("het", TWO, "{slurm: {layout: het}}"))
    checked = site.run("paislurm", "site", "check", "--site", "site.yaml", "job.yaml", "het.yaml", cwd=folder)
    assert checked.returncode == 4
    assert "layout shared" in checked.stdout
    assert "error E429: the job requests the layout het, and Slurm starts no job with a component" in checked.stderr
