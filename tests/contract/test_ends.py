"""How jobs end that somebody or something ends: users, administrators, time limits, nodes and daemons."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.cluster.instance import ADMINISTRATOR
from tests.cluster.jobs import BOTH, role
from tests.cluster.processes import wait_until
from tests.cluster.test_faults import cut_off

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

SAVES = "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 600 & wait; done"
RETRIED = "retry: {maxTransientRetries: 1}\nmonitor: {background: false, maxPollInterval: 2}\n"
FIRST = '[ "$FC_FRAMEWORK_ATTEMPT_ID" = 0 ]'


@pytest.mark.parametrize("by_root", [False, True], ids=["user", "root"])
def test_scancel(site: Site, folder: Path, by_root: bool) -> None:
    job = site.submit(folder, role("w", 2, SAVES))
    job.wait_for("ready", "0-w/0", "0-w/1")
    if by_root:
        site.administrator.admin(["scancel", job.number])
    else:
        assert site.run("scancel", job.number).returncode == 0
    state, code, reason = job.over()
    assert (state, code) == ("STOPPED", -210)
    assert f"cancelled by {ADMINISTRATOR if by_root else site.user}" in reason
    assert [task["state"] for task in job.status()["tasks"]] == ["STOPPED", "STOPPED"]


@BOTH
def test_a_time_limit_warns_the_tasks(site: Site, folder: Path, layout: str) -> None:
    job = site.submit(folder, role("w", 1, SAVES), f"{{slurm: {{time: 10, layout: {layout}}}}}")
    job.wait_for("ready", "0-w/0")
    assert "#SBATCH --signal=B:USR1@120\n" in job.script()
    # The signal comes when so much of the limit is left; the user brings the limit nearer.
    site.run("scontrol", "update", f"jobid={job.number}", "timelimit=2")
    assert job.over()[:2] == ("FAILED", -1004)
    # Where Slurm signals all processes of a step, a command may hear of its end twice.
    assert job.log("0-w/0").split()[:2] == ["ready", "saved"]


@pytest.mark.disruptive
def test_lost_batch_node_is_named_after_it_returns(site: Site, folder: Path) -> None:
    """Nobody looks before it is."""
    cluster = site.administrator
    job = site.submit(folder, role("w", 2, SAVES).replace("cpu: 1", "cpu: 16"), partition="fragile")
    job.wait_for("ready", "0-w/0", "0-w/1")
    number = job.number
    node = re.findall(r"BatchHost=(\w+)", cluster.admin(["scontrol", "show", "job", number]))[0]
    with cut_off(cluster, node):
        pass
    reported = ["sacct", "--noheader", "--allocations", "--parsable2", "--format=State", f"--jobs={number}"]
    wait_until(lambda: site.run(*reported).stdout == "NODE_FAIL\n", "the end of the job")
    state, code, reason = job.over()
    assert (state, code, reason.partition(";")[0]) == ("FAILED", -1001, f"a node failed: {node}")


@pytest.mark.disruptive
@BOTH
def test_a_lost_node_is_retried_elsewhere(site: Site, folder: Path, layout: str) -> None:
    """The job is transient, the node is left out of the next attempt, and no threshold counts."""
    cluster = site.administrator
    command = f"{FIRST} || {{ echo $SLURMD_NODENAME; exit 0; }}; echo $SLURMD_NODENAME; {SAVES}"
    job = site.submit(
        folder, role("w", 1, command, failed=-1), f"{{slurm: {{layout: {layout}}}}}", RETRIED, partition="fragile"
    )
    job.wait_for("ready", "0-w/0")
    node = job.log("0-w/0").split()[0]
    with cut_off(cluster, node):
        code, result = job.ended(attempt=1, loud=True)
    shown = job.status()
    assert (code, result["outcome"], [attempt["exit_code"] for attempt in shown["attempts"]]) == (
        0,
        "succeeded",
        [-1001],
    )
    assert f"ExcNodeList={node}" in cluster.admin(["scontrol", "show", "job", str(shown["job_id"])])
    assert job.log("0-w/0", attempt=1).strip() != node


def test_a_requeue_by_an_administrator_is_a_fresh_attempt(site: Site, folder: Path) -> None:
    cluster = site.administrator
    job = site.submit(folder, role("w", 1, f"{FIRST} || exit 0; {SAVES}"), settings=RETRIED)
    job.wait_for("ready", "0-w/0")
    number = job.number
    assert site.run("scontrol", "requeue", number).returncode != 0
    cluster.admin(["scontrol", "update", f"jobid={number}", "requeue=1"])
    cluster.admin(["scontrol", "requeue", number])
    # Slurm waits two minutes before it starts a job again.
    wait_until(lambda: "JobState=PENDING" in cluster.admin(["scontrol", "show", "job", number]), "the job to wait")
    cluster.admin(["scontrol", "update", f"jobid={number}", "starttime=now"])
    code, result = job.ended(attempt=1, loud=True)
    assert (code, result["outcome"]) == (0, "succeeded")
    assert [attempt["exit_code"] for attempt in job.status()["attempts"]] in ([-100], [-101])


def test_a_job_that_slurm_restarts_after_its_end_keeps_its_result(site: Site, folder: Path) -> None:
    """As after the loss of a node, or a crash of a controller that did not know of the end."""
    cluster, gate = site.administrator, folder / "gate"
    command = f"echo ran; until [ -e {gate} ]; do sleep 0.2; done"
    job = site.submit(folder, role("w", 1, command))
    number = job.number
    job.wait_for("ran", "0-w/0")
    cluster.admin(["scontrol", "update", f"jobid={number}", "requeue=1"])
    gate.touch()
    wait_until((job.attempt() / "claim/ended").exists, "the script to end")

    def is_restarted() -> bool:
        if "the attempt had ended when Slurm restarted the job" in (job.attempt() / "slurm.log").read_text():
            return True
        state = cluster.admin(["scontrol", "show", "job", number])
        if "JobState=PENDING" in state:
            # Else Slurm waits for two minutes.
            cluster.admin(["scontrol", "update", f"jobid={number}", "starttime=now"], check=False)
        elif "JobState=RUNNING" not in state:
            # Slurm ignores this while the job is completing; a node refuses the job in the second of its end.
            cluster.admin(["scontrol", "requeue", number], check=False)
        return False

    wait_until(is_restarted, "the second start")
    code, result = job.ended()
    assert (code, result["outcome"], job.status()["state"]) == (0, "succeeded", "SUCCEEDED")


@pytest.mark.exclusive
def test_retry_waits_until_the_controller_is_back(site: Site, folder: Path) -> None:
    """Sbatch could not reach it, so that nothing was submitted: the retry is no unknown, and comes when it is back."""
    cluster = site.administrator
    gate = folder / "gate"
    command = f"{FIRST} || exit 0; echo ready; until [ -e {gate} ]; do sleep 0.2; done; exit 1"
    job = site.submit(folder, role("w", 1, command), retries=1)
    job.wait_for("ready", "0-w/0")
    cluster.stop_daemon("slurmctld")
    try:
        gate.touch()
        wait_until((job.attempt() / "result.json").exists, f"the result of {job.name}")
        shown = job.status()
    finally:
        cluster.start_daemon("slurmctld")
    assert (shown["state"], shown["attempt"], shown["job_id"]) == ("WAITING", 1, None)
    assert shown["reason"].startswith("attempt 2 is not submitted yet: Slurm cannot be reached: ")
    assert shown["reason"].endswith("(connect failure); retrying until Slurm accepts it")
    code, result = job.ended(attempt=1, loud=True)
    assert (code, result["outcome"], job.status()["retries"]) == (0, "succeeded", 1)
