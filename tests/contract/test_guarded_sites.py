"""A site that forbids, adds and puts in the way: no sacct, nobody else's jobs, a rule that reads each job, a plugin.

A node has cores of two threads of which no profile speaks, and there is a second cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.jobs import BOTH, ONE_ATTEMPT, role
from tests.cluster.kinds import KINDS
from tests.contract.test_sparse_sites import each_outcome

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

KIND = KINDS["guarded"]
PROFILE = """\
partitions:
  normal: {nodes: [{count: 2, cpus: 16, memoryMB: 1000000, gpus: 4, gpuType: v100}]}
  threads: {nodes: [{count: 1, cpus: 16, memoryMB: 1000000}]}
defaultPartition: normal
time: {grace: 5, killWait: 5}
"""
FAR = f"""{ONE_ATTEMPT}\
cluster: far
partitions: {{normal: {{nodes: [{{count: 1, cpus: 16, memoryMB: 1000000}}]}}}}
defaultPartition: normal
"""


@BOTH
def test_a_plugin_of_the_site_reaches_tasks(site: Site, folder: Path, layout: str) -> None:
    """By its variables, and by the option that the job file has for it."""
    command = "echo $SITE_TASK, $SITE_FLAVOUR"
    extras = f"{{slurm: {{layout: {layout}, options: [--flavour=mint]}}}}"
    job = site.submit(folder, role("a", 1, command) + role("b", 1, command), extras)
    code, result = job.ended()
    assert (code, result["outcome"]) == (0, "succeeded")
    assert {job.log(task) for task in ("0-a/0", "1-b/0")} == {"of the site, mint\n"}


@BOTH
def test_job_outcomes_are_correct_without_access_to_sacct(site: Site, folder: Path, layout: str) -> None:
    """And a command in a task meanwhile."""
    assert site.run("bash", "-c", "sacct").returncode == 126
    for cancelled in each_outcome(site, folder, f"{{slurm: {{layout: {layout}}}}}", forgets=True):
        done = cancelled.paislurm("exec", cancelled.name, "w-0", "printenv", "SITE_TASK")
        assert (done.returncode, done.stdout) == (0, "of the site\n"), done.stderr


def test_job_moved_by_a_site_rule_shows_its_actual_node(site: Site, folder: Path) -> None:
    """The job is where the rule wants it, and status shows the node on which it really is."""
    job = site.submit(folder, role("w", 1, "echo $SLURM_JOB_PARTITION"), "{slurm: {account: extra}}")
    code, result = job.ended()
    assert (code, [task["node"] for task in result["tasks"]]) == (0, ["n2"])
    assert job.log("0-w/0") == "second\n"
    assert [task["node"] for task in job.status()["tasks"]] == ["n2"]


def test_a_rule_that_refuses_a_job(site: Site, folder: Path) -> None:
    """The user reads the site's words as the site's."""
    job = site.described(folder, "job", role("w", 1, "true"), "{slurm: {options: [--wckey=mine]}}")
    done = job.paislurm("submit", "job.yaml")
    assert done.returncode == 4
    assert 'message of the site: "Jobs of this site have no WCKey. Ask help@site.example for one."' in done.stderr
    assert not [*(job.home / "jobs").iterdir()]


def test_tasks_start_on_threaded_cores_missing_in_the_profile(site: Site, folder: Path) -> None:
    """Three tasks of 3 CPUs on cores of two threads begin, alone in a job and beside another role."""
    three = role("w", 3, "echo ${SLURM_OVERCOMMIT-unset}").replace("cpu: 1", "cpu: 3")
    two = role("u", 2, "true").replace("cpu: 1", "cpu: 3")
    for layout, roles in (("het", three), ("shared", three + two)):
        job = site.submit(folder, roles, f"{{slurm: {{partition: threads, layout: {layout}}}}}")
        code, result = job.ended()
        assert (code, result["outcome"]) == (0, "succeeded"), layout
        assert {job.log(f"0-w/{index}") for index in range(3)} == {"unset\n"}


def test_a_job_of_another_cluster(site: Site, folder: Path) -> None:
    """It is submitted, shown, cancelled and asked for there; its number has the cluster's name behind it."""
    job = site.submit(folder, role("w", 2, "echo $SLURM_CLUSTER_NAME"), settings=FAR)
    assert job.ended()[1]["outcome"] == "succeeded"
    assert job.log("0-w/1") == "far\n"
    assert job.number.endswith(";far")
    waits = role("w", 1, "echo up; sleep infinity")
    for cancels, layout in ((True, "het"), (False, "shared")):
        other = site.submit(folder, waits, f"{{slurm: {{layout: {layout}}}}}", settings=FAR)
        other.wait_for("up", "0-w/0")
        assert other.status()["state"] == "RUNNING"
        refused = other.paislurm("exec", other.name, "w-0", "true")
        assert (refused.returncode, "error E526" in refused.stderr) == (4, True), refused.stderr
        if cancels:
            assert other.paislurm("cancel", other.name).returncode == 0
        else:
            site.run("scancel", "--clusters=far", other.number.partition(";")[0])
        assert other.over()[:2] == ("STOPPED", -210)
        assert other.paislurm("status", "--json", other.number.partition(";")[0]).returncode == 0
