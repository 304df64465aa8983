"""What is left of jobs that have ended, and how they are removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.jobs import BOTH, role
from tests.cluster.processes import wait_until
from tests.long_ago import age

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

SLEEPS = "echo up; sleep 600"


@BOTH
def test_two_roles_and_a_retry_are_tidied(site: Site, folder: Path, layout: str) -> None:
    fails = '[ "$FC_FRAMEWORK_ATTEMPT_ID" = 1 ] || exit 7; echo again'
    job = site.submit(
        folder, role("a", 1, fails) + role("b", 2, "echo b"), f"{{slurm: {{layout: {layout}}}}}", retries=1
    )
    assert job.ended(attempt=1)[0] == 0
    age(job.path)
    assert job.status()["attempt"] == 1
    for attempt in (0, 1):
        assert (job.attempt(attempt) / "job.head").exists()
        assert not (job.attempt(attempt) / "job.sbatch").exists()
        assert (job.attempt(attempt) / "result.json").exists()
    assert job.log("0-a/0", attempt=1) == "again\n"
    assert len(list((job.home / "runtime").iterdir())) == 1


def test_a_job_that_was_cancelled_is_tidied_and_removed(site: Site, folder: Path) -> None:
    job = site.submit(folder, role("w", 1, SLEEPS))
    job.wait_for("up", "0-w/0")
    refused = job.paislurm("remove", job.name)
    assert (refused.returncode, "E591" in refused.stderr) == (4, True)
    assert job.paislurm("cancel", job.name).returncode == 0
    assert job.over()[0] == "STOPPED"
    wait_until(lambda: not site.run("squeue", "-h", "-j", job.number).stdout, "Slurm to be done with it")
    age(job.path)
    job.status()
    assert not (job.attempt() / "job.sbatch").exists()
    assert job.log("0-w/0") == "up\n"
    assert "iB" in job.paislurm("list", job.name, "--columns", "size").stdout
    done = job.paislurm("remove", job.name)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (job.home / "jobs").iterdir()] == [".removed"]
    assert job.paislurm("status", job.name).returncode == 5


def test_monitor_removes_jobs_that_ended_before_remove_after(site: Site, folder: Path) -> None:
    job = site.submit(folder, role("w", 1, "true"))
    assert job.ended()[0] == 0
    age(job.path, 31 * 86400)
    profile = job.folder / "site.yaml"
    profile.write_text(f"{profile.read_text()}jobs: {{removeAfter: 30d}}\n")
    site.run("touch", "-d", "31 days ago", str(job.path / "journal.jsonl"))
    done = job.paislurm("monitor", "--once")
    assert done.returncode == 0, done.stderr
    assert not job.path.exists()
