"""ssh from task to task, with no daemon: what arrives there, and what comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import BOTH, paislurm, role, submit
from tests.cluster.processes import wait_until
from tests.cluster.ssh_calls import MASTER, WAITS, came_back, roles_of_calls

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster


@BOTH
def test_a_command_runs_in_the_task_that_is_named(installed: Cluster, workdir: Path, layout: str) -> None:
    (workdir / "master.sh").write_text(MASTER)
    (workdir / "master.sh").chmod(0o644)
    job = submit(installed, workdir, roles_of_calls(workdir / "master.sh"), f"{{slurm: {{layout: {layout}}}}}")
    out, err = came_back(job)
    assert [line.split() for line in out] == [
        ["status", "7"],
        ["i", "n", "\\0", "t", "o"],
        ["status", "137"],
        ["0"],
        ["equal"],
        ["status", "255"],
        ["status", "255"],
        ["100"],
    ]
    assert err[0] == "aside"
    assert any("no task of this job; its tasks are master-0 worker-0..1" in line or "worker-7" in line for line in err)
    assert err[-1] == "paislurm: ssh: -L is not possible without a daemon"


@pytest.mark.parametrize("signal", ["TERM", "KILL"])
def test_what_a_killed_ssh_had_started_is_killed(installed: Cluster, workdir: Path, signal: str) -> None:
    remote = "trap : TERM; echo $$ >$PAI_WORK_DIR/pid; while :; do sleep 1; done"
    command = (
        f"ssh worker-0 '{remote}' & until [ -s ../../1-worker/0/pid ]; do sleep 0.1; done; kill -{signal} $!; sleep 300"
    )
    job = submit(installed, workdir, role("master", 1, command) + role("worker", 1, WAITS), partition="watched")
    pid_file = job.work("1-worker/0") / "pid"
    wait_until(lambda: pid_file.exists() and bool(pid_file.read_text()), "the remote command to run")
    # All hosts of the cluster have their processes in common.
    process = Path("/proc", pid_file.read_text().strip())
    wait_until(lambda: not process.exists(), "its end")
    states = {
        task["state"] for task in json.loads(paislurm(installed, workdir, "status", "--json", job.name).stdout)["tasks"]
    }
    assert states == {"RUNNING"}
    assert paislurm(installed, workdir, "cancel", job.name).returncode == 0


def test_rsync_goes_its_way(installed: Cluster, workdir: Path) -> None:
    command = "head -c 2000000 /dev/urandom >bytes; rsync -ae ssh bytes worker-0:copy; rsync worker-0:copy back"
    roles = role("master", 1, f"{command}; cmp bytes back", succeeded=1) + role("worker", 1, WAITS)
    job = submit(installed, workdir, roles.replace("memoryMB: 100", "memoryMB: 1000"))
    code, _ = job.ended()
    assert code == 0, job.log("0-master/0", "stderr.log")
    assert (job.attempt / "work/1-worker/0/copy").read_bytes() == (job.attempt / "work/0-master/0/bytes").read_bytes()
