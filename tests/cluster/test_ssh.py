"""ssh from task to task, with no daemon: what arrives there, and what comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import BOTH, paislurm, role, submit
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster

WAITS = "trap 'exit 0' TERM; sleep 300 & wait"
WHERE = 'echo "$SLURMD_NODENAME $PAI_CURRENT_TASK_ROLE_NAME-$PAI_TASK_INDEX $PWD"'
MASTER = f"""
        where='{WHERE}'
        for task in master-0 worker-0 worker-1; do ssh -o StrictHostKeyChecking=no -q root@$task "$where"; done
        ssh -p "$PAI_PORT_LIST_worker_1_ssh" "$PAI_HOST_IP_worker_1" "$where"
        ssh localhost "$where"
        ssh worker-1 'exit 7' || echo "status $?"
        printf 'in\\0to' | ssh -Tx worker-1 'cat | od -An -c; echo aside >&2; kill -9 $$' || echo "status $?"
        echo lost | ssh -n worker-0 wc -c
        head -c 2000000 /dev/urandom >bytes
        ssh worker-1 cat <bytes | cmp - bytes && echo equal
        ssh worker-7 true || echo "status $?"
        ssh -L 80:here:80 worker-1 || echo "status $?"
        for i in $(seq 100); do ssh -n worker-$((i % 2)) "echo $i \\$PAI_TASK_INDEX" >answer.$i & done
        wait
        cat answer.* | awk '{{ right += ($1 % 2 == $2) }} END {{ print right }}'"""


@BOTH
def test_a_command_runs_in_the_task_that_is_named(installed: Cluster, workdir: Path, layout: str) -> None:
    (workdir / "master.sh").write_text(MASTER)
    (workdir / "master.sh").chmod(0o644)
    roles = (role("master", 1, f"source {workdir}/master.sh", succeeded=1) + role("worker", 2, WAITS)).replace(
        "memoryMB: 100", "memoryMB: 3000"
    )
    job = submit(installed, workdir, roles, f"{{slurm: {{layout: {layout}}}}}")
    code, result = job.ended()
    out, err = job.log("0-master/0").splitlines(), job.log("0-master/0", "stderr.log").splitlines()
    assert (code, result["outcome"]) == (0, "succeeded"), (out, err)
    node = {f"{task['role']}-{task['index']}": task["node"] for task in result["tasks"]}
    folder = {"master-0": "0-master/0", "worker-0": "1-worker/0", "worker-1": "1-worker/1"}
    called = ["master-0", "worker-0", "worker-1", "worker-1", "master-0"]
    assert out[:5] == [f"{node[task]} {task} {job.work(folder[task])}" for task in called]
    assert [line.split() for line in out[5:]] == [
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
