"""Jobs that are changed while they wait or run, and what Slurm lets users change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.cluster.instance import TWO_USERS
from tests.cluster.jobs import BOTH, ONE_ATTEMPT, role
from tests.cluster.processes import wait_until
from tests.contract.site import LONGEST

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Job, Site

FIRST = '[ "$FC_FRAMEWORK_ATTEMPT_ID" = 0 ]'
PAIR = """\
partitions:
  normal: {nodes: [{count: 4, cpus: 16, memoryMB: 1000000}], timeLimit: 1-00:00:00}
  pair: {nodes: [{count: 2, cpus: 16, memoryMB: 1000000}], timeLimit: 1-00:00:00}
"""
"""The project's own clusters, as far as jobs are changed to them."""
UNTIL = "until [ -e go ]; do sleep 0.2; done"


def of_slurm(job: Job, *names: str) -> list[tuple[str, ...]]:
    """Return what Slurm says of each component of a job's last attempt."""
    shown = job.site.run("scontrol", "--oneliner", "show", "job", job.number).stdout.splitlines()
    return [tuple(re.findall(rf"\b{name}=(\S+)", line)[0] for name in names) for line in shown]


def updated(job: Job, *words: str) -> str:
    """Change a job, and return what that said."""
    done = job.paislurm("update", job.name, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(job: Job, *words: str) -> str:
    """Let a change of a job be refused, and return the words."""
    done = job.paislurm("update", job.name, *words)
    assert (done.returncode, done.stdout) == (4, "")
    return done.stderr


@BOTH
def test_update_changes_all_components_of_a_pending_job(site: Site, folder: Path, layout: str) -> None:
    site.require(TWO_USERS)
    assert site.administrator
    extras = f"{{slurm: {{layout: {layout}, options: [--begin=now+1hour]}}}}"
    job = site.submit(folder, role("a", 1, "true") + role("b", 1, "true"), extras, ONE_ATTEMPT + PAIR)
    count = 2 if layout == "het" else 1
    said = updated(job, "--time", "7", "--partition", "pair", "--nice", "9")
    assert said.startswith(f"{site.user}~{job.name}: time 00:07:00, partition pair, nice 9 (job ")
    assert of_slurm(job, "TimeLimit", "Partition", "Nice") == [("00:07:00", "pair", "9")] * count
    assert job.status()["partition"] == "pair"
    updated(job, "--hold")
    assert of_slurm(job, "Priority", "Reason") == [("0", "JobHeldUser")] * count
    assert "its user holds it" in job.status()["reason"]
    assert job.status()["expected_start_at"] is None
    updated(job, "--release")
    assert "0" not in {priority for (priority,) in of_slurm(job, "Priority")}
    if site.cluster:
        assert "qos high" in updated(job, "--qos", "high")
        assert of_slurm(job, "QOS", "Nice") == [("high", "9")] * count
    said = refused(job, "--partition", "nowhere")
    assert "error E621: Slurm refuses --partition of job" in said
    assert "list the partitions with `sinfo`" in said
    before = of_slurm(job, "TimeLimit", "Partition")
    said = refused(job, "--time", "6", "--partition", "nowhere")
    after = of_slurm(job, "TimeLimit", "Partition")
    assert {partition for _, partition in after} == {"pair"}
    taken = job.status()["changes"]
    assert len(taken) == (4 if site.cluster else 3) + (after != before)
    assert ("; it changed --time" in said, taken[-1]["values"] == {"time": "00:06:00"}) == (after != before,) * 2
    assert job.paislurm("cancel", job.name).returncode == 0
    assert "error E620" in refused(job, "--time", "5")


@BOTH
def test_time_limit_of_a_running_job_can_only_be_lowered(site: Site, folder: Path, layout: str) -> None:
    site.require(TWO_USERS)
    roles = role("a", 1, "echo ready; sleep 600") + role("b", 1, "echo ready; sleep 600")
    job = site.submit(
        folder, roles, f"{{slurm: {{layout: {layout}, time: 20}}}}", ONE_ATTEMPT + PAIR * bool(site.cluster)
    )
    job.wait_for("ready", "0-a/0", "1-b/0")
    assert "time 00:10:00" in updated(job, "--time", "10")
    assert {limit for (limit,) in of_slurm(job, "TimeLimit")} == {"00:10:00"}
    said = refused(job, "--time", "30")
    assert "error E621: Slurm refuses --time of job" in said
    assert "lower the time limit of a running job" in said
    if site.cluster:
        said = refused(job, "--partition", "pair")
        assert "Job is no longer pending execution" in said
        assert "only while the job waits" in said
    assert {limit for (limit,) in of_slurm(job, "TimeLimit")} == {"00:10:00"}
    wait_until(lambda: job.status()["backend_state"] == "RUNNING", "status to know that the job runs", LONGEST)
    assert "error E622" in refused(job, "--hold")
    assert [change["values"] for change in job.status()["changes"]] == [{"time": "00:10:00"}]
    assert job.paislurm("cancel", job.name).returncode == 0


@BOTH
def test_updated_options_apply_to_the_next_attempt(site: Site, folder: Path, layout: str) -> None:
    """A retry that the job did not have, of another time limit and another nice value."""
    command = f"echo ready; {UNTIL}; ! {FIRST} || exit 3; echo again; {UNTIL.replace('go', 'go2')}"
    extras = f"{{slurm: {{layout: {layout}, time: 20, workdir: submit}}}}"
    job = site.submit(folder, role("a", 1, command) + role("b", 1, UNTIL), extras)
    job.wait_for("ready", "0-a/0")
    updated(job, "--time", "8", "--retries", "1", "--nice", "3")
    site.write(job.folder, "go", "")
    wait_until(lambda: job.status()["attempt"] == 1 and job.status()["job_id"], "the second attempt", LONGEST)
    assert set(of_slurm(job, "TimeLimit", "Nice")) == {("00:08:00", "3")}
    site.write(job.folder, "go2", "")
    assert job.ended(attempt=1)[0] == 0
    (attempt,) = job.status()["attempts"]
    assert (attempt["exit_code"], attempt["retry_rule"]) == (255, "retry 1 of 1")
    assert "error E620" in refused(job, "--retries", "3")


def dependent(site: Site, folder: Path, slurm: str) -> tuple[Job, Job]:
    """Submit a job that lasts, and one of two roles that waits for its end."""
    first = site.described(folder, "first", role("w", 1, "sleep 600"))
    job = site.described(folder, "next", role("a", 1, "true") + role("b", 1, "true"), f"{{slurm: {{{slurm}}}}}")
    for words in (("first.yaml",), ("next.yaml", "--after", "first:ended")):
        done = job.paislurm("submit", *words)
        assert done.returncode == 0, done.stderr
    return first, job


@BOTH
def test_update_changes_and_holds_a_dependent_job(site: Site, folder: Path, layout: str) -> None:
    site.require(TWO_USERS)
    first, job = dependent(site, folder, f"layout: {layout}")
    assert updated(job, "--time", "9", "--hold").endswith("held (when it is submitted)\n")
    assert "its user holds it when it is submitted" in job.status()["reason"]
    assert first.paislurm("cancel", "first").returncode == 0
    wait_until(lambda: job.status()["job_id"], "the second job to be submitted", LONGEST)
    assert set(of_slurm(job, "TimeLimit", "Reason")) == {("00:09:00", "JobHeldUser")}
    assert job.status()["expected_start_at"] is None
    updated(job, "--release")
    assert job.ended()[0] == 0


@BOTH
def test_dependent_job_refused_by_slurm_ends_with_its_message(site: Site, folder: Path, layout: str) -> None:
    site.require(TWO_USERS)
    first, job = dependent(site, folder, f"layout: {layout}, options: [--nice=-4]")
    assert first.paislurm("cancel", "first").returncode == 0
    wait_until(lambda: job.status()["ended"], "the second job to be refused", LONGEST)
    status = job.status()
    assert (status["state"], status["exit_code"], status["job_id"]) == ("FAILED", -200, None)
    assert status["reason"].startswith("attempt 1 cannot be submitted: sbatch refuses")
    assert "Invalid --nice value" in status["reason"]
