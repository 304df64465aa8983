"""A site that leaves much out: no accounts, no control groups, whole nodes only, a controller that soon forgets.

Its nodes have no getent, its GPUs no device files and another name, and one node has home folders of its own.
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from paislurm.translator.monitor.job_status import LOST_SECONDS
from paislurm.translator.monitor.verdict import REUSED_SECONDS
from paislurm.translator.site.load import load_site
from tests.cluster.instance import ALICE
from tests.cluster.jobs import BOTH, ONE_ATTEMPT, WHERE, role
from tests.cluster.kinds import KINDS
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.contract.site import Job, Site

KIND = KINDS["sparse"]
PROFILE = """\
partitions:
  normal: {nodes: [{count: 2, cpus: 16, memoryMB: 1000000, gpus: 2}]}
  apart: {nodes: [{count: 1, cpus: 16, memoryMB: 1000000}]}
defaultPartition: normal
time: {grace: 5, killWait: 5}
"""
RETRIED = ONE_ATTEMPT.replace("retry: {maxTransientRetries: 0}\n", "")


def at_last(job: Job) -> tuple[str, int, str]:
    """Wait for the end of a job of which Slurm may say what it likes; return its state, code and reason."""
    done = job.paislurm("wait", "--", job.name)
    shown = job.status()
    assert shown["ended"], done.stderr
    return shown["state"], shown["exit_code"], shown["reason"]


@BOTH
def test_tasks_get_addresses_without_getent(site: Site, folder: Path, layout: str) -> None:
    """Without accounts, with whole nodes, and without getent: the hosts file of the batch node has them."""
    roles = role("a", 1, f"{WHERE}; command -v getent || true; echo $PAI_HOST_IP_b_0")
    job = site.submit(folder, roles + role("b", 1, "true"), f"{{slurm: {{layout: {layout}}}}}")
    code, result = job.ended()
    assert (code, result["outcome"]) == (0, "succeeded")
    node = next(task["node"] for task in result["tasks"] if task["role"] == "b")
    assert job.log("0-a/0").splitlines()[1:] == [site.administrator.address(node)]
    assert job.paislurm("logs", job.name, "a-0").stdout == job.log("0-a/0")


def each_outcome(site: Site, folder: Path, extras: str, *, forgets: bool = False) -> Iterator[Job]:
    """Check how a task ends that fails, a cancel by its user, and one by scancel; yield the jobs that are cancelled.

    A site that `forgets` an ended job at once may show no poll that it was cancelled: it may have been preempted.
    """
    failed = site.submit(folder, role("w", 2, "exit 3"), extras)
    assert failed.over()[:2] == ("FAILED", 255)
    for reason in (f"the job was cancelled by {ALICE}", ""):
        job = site.submit(folder, role("w", 1, "echo up; sleep infinity"), extras)
        job.wait_for("up", "0-w/0")
        yield job
        done = job.paislurm("cancel", job.name) if reason else site.run("scancel", job.number)
        assert done.returncode == 0, done.stderr
        found = job.over()
        known = [("STOPPED", -210), ("FAILED", -101)][: 1 + (forgets and not reason)]
        assert (found[:2] in known, found[2]) == (True, reason or found[2]), found


@BOTH
def test_job_outcomes_are_correct_without_accounting(site: Site, folder: Path, layout: str) -> None:
    assert len(list(each_outcome(site, folder, f"{{slurm: {{layout: {layout}}}}}"))) == 2


def test_a_retry_without_accounts(site: Site, folder: Path) -> None:
    marker = folder / "again"
    text = role("w", 1, f"[ -e {marker} ] || {{ touch {marker}; exit 1; }}")
    job = site.submit(folder, text, settings=RETRIED, retries=1)
    state, code, _ = job.over()
    assert (state, code, job.status()["retries"]) == ("SUCCEEDED", 0, 1)


def test_node_without_the_shared_home_fails_the_job(site: Site, folder: Path) -> None:
    """The batch script ends at once, though Slurm has made it a folder of the name; node and folder are named."""
    job = site.submit(folder, role("w", 1, "true"), "{slurm: {partition: apart}}")
    state, code, reason = at_last(job)
    assert (state, code) == ("FAILED", -1405), reason
    assert f"node n3 cannot access the job's folder {job.path}" in reason
    assert not [*(job.attempt() / "logs").glob("*")]


def test_a_waiting_job_that_its_controller_has_forgotten_counts_as_lost_after_some_time(
    site: Site, folder: Path
) -> None:
    """Nobody looked while the controller remembered that it was cancelled. It is no node's failure, and not the end."""
    job = site.submit(folder, role("w", 1, "true"), "{slurm: {options: [--begin=now+1hour]}}", settings=RETRIED)
    site.run("scancel", job.number)
    wait_until(
        lambda: job.number not in site.run("squeue", "--all", "-h", "-t", "all").stdout, "it to be forgotten", 60
    )
    states = {"WAITING": "Slurm does not show the job yet", "UNKNOWN": "whose script has not begun; after 10 min"}
    shown = job.status()
    assert states[shown["state"]] in shown["reason"]
    grow_older(job, LOST_SECONDS)
    wait_until(lambda: job.status()["attempts"], "it to be lost", 60)
    (attempt,) = job.status()["attempts"]
    assert (attempt["exit_code"], attempt["behaviour"], attempt["blamed_nodes"]) == (-120, "transient", [])


def grow_older(job: Job, seconds: int) -> None:
    """Let what the journal says have happened some time before."""
    journal = job.path / "journal.jsonl"
    text = re.sub(r'(?<="happened_at": )\d+', lambda time: str(int(time[0]) - seconds), journal.read_text())
    journal.write_text(text)


@contextmanager
def lost(site: Site, job: Job) -> Iterator[None]:
    """Let the controller of a cluster lose its records while a job runs, as after a crash of its disk."""
    cluster = site.administrator
    cluster.lose_state(f"FirstJobId={job.number}\n")
    for result in job.path.glob("attempts/*/result.json"):
        result.unlink()
    yield
    cluster.cancel_all()
    cluster.wait_idle()


@pytest.mark.exclusive
def test_job_lost_by_the_controller_fails_without_a_retry(site: Site, folder: Path) -> None:
    """Nobody knows how it ended: not one answer ends it, but some time does, and it is not run again."""
    job = site.submit(folder, role("w", 1, "echo up; sleep infinity"), settings=RETRIED)
    job.wait_for("up", "0-w/0")
    assert job.status()["state"] == "RUNNING"
    with lost(site, job):
        wait_until(lambda: "has forgotten the job" in str(job.status()["reason"]), "it to be forgotten", 60)
        assert job.status()["state"] == "RUNNING"
        grow_older(job, LOST_SECONDS)
        state, code, reason = at_last(job)
        assert (state, code) == ("FAILED", -1404), reason
        assert "has forgotten job" in reason
        assert str(job.path) in reason
        assert job.status()["retries"] == 0


@pytest.mark.exclusive
def test_job_lost_by_the_controller_is_retried_if_its_number_is_another_jobs(site: Site, folder: Path) -> None:
    """Then the controller has certainly lost it, which is no node's failure. The other job stays."""
    job = site.submit(folder, role("w", 1, "echo up; sleep infinity"), settings=RETRIED)
    job.wait_for("up", "0-w/0")
    number = job.number
    claimed = (job.attempt() / "claim/owner").stat().st_mtime
    with lost(site, job):
        # Slurm's times are whole seconds: one of the same second could be that of the job itself.
        wait_until(lambda: time.time() > claimed + 1, "the next second")
        other = site.run("sbatch", "--parsable", "--job-name=other", "--begin=now+1hour", "--wrap=true").stdout.strip()
        assert other == number
        wait_until(lambda: "has forgotten the job" in str(job.status()["reason"]), "it to be lost", 60)
        grow_older(job, REUSED_SECONDS)
        wait_until(lambda: job.status()["attempts"], "it to be retried", 60)
        (attempt,) = job.status()["attempts"]
        assert (attempt["exit_code"], attempt["behaviour"], attempt["blamed_nodes"]) == (-101, "transient", [])
        assert f"Slurm has lost the job, job {number} is another one" in attempt["reason"]
        assert number in site.run("squeue", "-h", "-o", "%i").stdout.split()


def test_gpu_step_on_whole_nodes_fails_with_slurms_reason(site: Site, folder: Path) -> None:
    """Slurm refuses such steps, and the user reads why."""
    roles = role("g", 2, "true").replace("gpu: 0", "gpu: 1")
    job = site.submit(folder, roles, settings=ONE_ATTEMPT + "gpus: {gres: accel}\n")
    state, code, reason = at_last(job)
    assert (state, code) == ("FAILED", -1402)
    assert "Invalid generic resource (gres) specification" in reason


def test_detect_finds_partitions_and_nodes(site: Site, folder: Path) -> None:
    """A profile that jobs run with, though Slurm does not say that a resource of another name is a GPU."""
    done = site.run("paislurm", "site", "detect", "--output", "site.yaml", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "wrote site.yaml\n")
    found = load_site((folder / "site.yaml").read_bytes(), file="site.yaml")
    assert {each.name: each.node_count for each in found.partitions.values()} == {"normal": 2, "apart": 1}
