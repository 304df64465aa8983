"""ssh from task to task, with no daemon: what arrives there, and what comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.instance import require_privilege
from tests.cluster.jobs import ONE_ATTEMPT, WHERE, folder_of_alice, paislurm, role, submit
from tests.cluster.processes import read, wait_until
from tests.cluster.test_faults import cut_off, status, wait_ready

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster


WAITS = "trap 'exit 0' TERM; sleep 300 & wait"
PLACE = f'{WHERE} $(grep -oE "paislurm-[0-9a-f]{{8}}-(login|n[0-9]+) " /proc/self/mountinfo)'
"""Where a command is, and whose mount table it has: that of a node has a file system of its name."""


@pytest.mark.parametrize("signal", ["TERM", "KILL"])
def test_killing_ssh_kills_its_remote_processes(installed: Cluster, workdir: Path, signal: str) -> None:
    """The command, its children, and what carried it."""
    require_privilege("mounts of each host")
    remote = f"trap : TERM; sleep 301 & {{ echo $$ $!; {PLACE}; }} >$PAI_WORK_DIR/where; while :; do sleep 1; done"
    wait = "until grep -q ' paislurm-' ../../1-worker/0/where 2>/dev/null; do sleep 0.1; done"
    command = f"ssh worker-0 '{remote}' & {wait}; kill -{signal} $!; sleep 300"
    nodes = "{slurm: {layout: het, nodelist: n5, taskRoles: {worker: {nodelist: n6}}}}"
    job = submit(installed, workdir, role("master", 1, command) + role("worker", 1, WAITS), nodes, partition="watched")
    where = job.work("1-worker/0") / "where"
    wait_until(lambda: where.exists() and len(where.read_text().splitlines()) == 2, "the remote command to run")
    pids, location = where.read_text().splitlines()
    assert location == f"n6 worker-0 {where.parent} paislurm-{installed.instance.tag}-n6"
    # All hosts of the cluster have their processes in common.
    remote_processes = [Path("/proc", pid) for pid in pids.split()]
    carriers = f"--relay {job.attempt.parents[1]} "
    wait_until(lambda: not any(process.exists() for process in remote_processes), "its end")
    wait_until(lambda: not any(carriers in line for line in command_lines()), "the end of what carried it")
    states = {
        task["state"] for task in json.loads(paislurm(installed, workdir, "status", "--json", job.name).stdout)["tasks"]
    }
    assert states == {"RUNNING"}
    assert paislurm(installed, workdir, "cancel", job.name).returncode == 0


def test_rsync_scp_sftp_and_pdsh_work_between_tasks(installed: Cluster, workdir: Path) -> None:
    ways = {
        "rsync": "rsync -ae ssh bytes worker-0:rsync; rsync worker-0:rsync back.rsync",
        "scp": "scp -q bytes worker-0:scp; scp -qO worker-0:scp back.scp",
        "sftp": "printf 'put bytes sftp\\nget sftp back.sftp\\n' | sftp -q -b - worker-0",
    }
    calls = ["head -c 2000000 /dev/urandom >bytes", *ways.values(), *(f"cmp bytes back.{way}" for way in ways)]
    calls += ["pdsh -w worker-0 true", "! pdsh -w worker-9 true"]
    command = " && ".join(calls).replace("; ", " && ")
    roles = role("master", 1, command, succeeded=1) + role("worker", 1, WAITS)
    job = submit(installed, workdir, roles.replace("memoryMB: 100", "memoryMB: 1000"))
    code, _ = job.ended()
    assert code == 0, job.log("0-master/0", "stderr.log")
    sent = (job.work("0-master/0") / "bytes").read_bytes()
    assert {way: (job.work("1-worker/0") / way).read_bytes() == sent for way in ways} == dict.fromkeys(ways, True)


def command_lines() -> list[str]:
    return [read(path).replace("\0", " ") for path in Path("/proc").glob("[0-9]*/cmdline")]


@pytest.mark.disruptive
def test_ssh_to_an_unreachable_node_fails(installed: Cluster, workdir: Path, image: Path) -> None:
    """A call to its tasks ends with an error, before Slurm has noticed; one that runs ends when Slurm gives it up."""
    # In a session of its own the call that runs hears nothing of the end of the job, which comes with that of the node.
    call = """setsid bash -c 'ssh worker-0 "echo there; sleep 300" || echo "running $?"' &"""
    new = 'SECONDS=0; ssh worker-0 true || echo "new $? $SECONDS"; wait'
    command = f"trap 'wait; exit 0' TERM; {call} until [ -e ../../../cut ]; do sleep 0.1; done; {new}"
    nodes = "{slurm: {layout: het, nodelist: n7, taskRoles: {worker: {nodelist: n8}}}}"
    settings = {
        "node": ONE_ATTEMPT,
        "container": ONE_ATTEMPT + f"containers: {{runtime: charliecloud, images: {{debian: {image}}}}}\n",
    }
    roles = role("master", 1, command) + role("worker", 1, WAITS)
    jobs = [
        submit(installed, folder_of_alice(workdir / kind), roles, nodes, more, partition="fragile")
        for kind, more in settings.items()
    ]
    for job in jobs:
        wait_ready(job, "0-master/0")
    with cut_off(installed, "n8"):
        for job in jobs:
            (job.attempt / "cut").touch()
        for job in jobs:
            job.ended()
            # Slurm's TERM may overtake srun's word; then the accounts alone say why the job ended.
            assert status(job)["exit_code"] == -1001
            said = job.log("0-master/0").splitlines()
            assert said[0] == "there"
            assert sorted(line.split()[:2] for line in said[1:]) == [["new", "255"], ["running", "255"]]
            (seconds,) = (int(line.split()[2]) for line in said if line.startswith("new"))
            # Slurm's MessageTimeout is 5 s here.
            assert seconds < 15
            errors = job.log("0-master/0", "stderr.log").splitlines()
            assert errors.count("paislurm: ssh: the command could not run to its end on node n8") == 2
