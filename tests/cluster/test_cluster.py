"""The cluster itself: that it behaves like the real thing, and comes back from what is done to it."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster import boot
from tests.cluster.config import has_cgroups
from tests.cluster.daemons import daemons
from tests.cluster.instance import HOSTS, ClusterError, default_instance
from tests.cluster.processes import recorded_pid, residents, wait_until

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster

FINAL = ("COMPLETED", "FAILED", "CANCELLED", "OUT_OF_MEMORY", "NODE_FAIL", "TIMEOUT")


def submit(cluster: Cluster, folder: Path, script: str, user: str = "alice", wait: bool = True) -> int:
    options = ["--parsable", *(["--wait"] if wait else [])]
    done = cluster.run(["sbatch", *options], user=user, cwd=folder, stdin=f"#!/bin/bash\n{script}\n")
    assert done.stdout.strip().isdecimal(), done.stderr
    return int(done.stdout)


def final_state(cluster: Cluster, job: int, components: int = 1) -> str:
    """Wait until accounting has the end of all the job's components; return the first one's state."""

    def states() -> list[str]:
        rows = cluster.sacct(job)
        return [row["State"] for row in rows if "." not in row["JobID"]]

    wait_until(
        lambda: len(states()) == components and all(state.startswith(FINAL) for state in states()),
        f"sacct does not know the end of job {job}",
    )
    return states()[0]


def test_a_job_runs_and_is_accounted(cluster: Cluster, workdir: Path) -> None:
    job = submit(cluster, workdir, "#SBATCH --nodelist=n2\nid -un; pwd; hostname")
    assert final_state(cluster, job) == "COMPLETED"
    assert (workdir / f"slurm-{job}.out").read_text().split() == ["alice", str(workdir), "n2"]
    row = cluster.sacct(job)[0]
    assert (row["User"], row["Account"], row["ExitCode"]) == ("alice", "research", "0:0")
    wait_until(lambda: cluster.sacct(job)[0]["QOS"] == "normal", "sacct does not learn the QOS, if late")


def test_components_run_on_separate_hosts(cluster: Cluster, workdir: Path) -> None:
    script = """#SBATCH --ntasks=1 --nodelist=n1
#SBATCH hetjob
#SBATCH --ntasks=1 --nodelist=n2
srun --mpi=none -N1 -n1 -c1 --het-group=0,1 bash -c '
    mkdir -p /tmp/$SLURM_JOB_UID.own; touch /tmp/$SLURM_JOB_UID.own/$(hostname)
    echo $(hostname) $(ls /tmp/$SLURM_JOB_UID.own) $(getent hosts $(hostname) | cut -d" " -f1)'"""
    job = submit(cluster, workdir, script)
    assert final_state(cluster, job, components=2) == "COMPLETED"
    lines = sorted((workdir / f"slurm-{job}.out").read_text().splitlines())
    assert lines == [f"{node} {node} {cluster.address(node)}" for node in ("n1", "n2")]


def test_memory_limits_are_enforced(cluster: Cluster, workdir: Path) -> None:
    if not has_cgroups():
        pytest.skip("this machine mounts no cgroup v1")
    job = submit(cluster, workdir, "#SBATCH --mem=50\npython3 -c 'bytearray(10**8)'")
    assert final_state(cluster, job) == "OUT_OF_MEMORY"


def test_gpus_are_numbered(cluster: Cluster, workdir: Path) -> None:
    job = submit(cluster, workdir, "#SBATCH --gres=gpu:v100:4\necho $CUDA_VISIBLE_DEVICES")
    assert (workdir / f"slurm-{job}.out").read_text().strip() == "0,1,2,3"
    final_state(cluster, job)
    assert "gres/gpu=4" in cluster.sacct(job)[0]["AllocTRES"]


def test_scancel_leaves_no_process(cluster: Cluster, workdir: Path) -> None:
    if not has_cgroups():
        pytest.skip("this machine mounts no cgroup v1")
    # A process in a session of its own, deaf to TERM: only the control group knows whose it is.
    script = "setsid bash -c 'trap \"\" TERM; touch ready; sleep 4321' &\nwait"
    job = submit(cluster, workdir, script, wait=False)
    wait_until((workdir / "ready").exists, "the job does not start")
    assert sleepers(cluster)
    cluster.run(["scancel", str(job)], check=True)
    assert final_state(cluster, job).startswith("CANCELLED")
    wait_until(lambda: not cluster.squeue(job), "the job does not end")
    assert not sleepers(cluster)


def sleepers(cluster: Cluster) -> list[int]:
    def command(pid: int) -> bytes:
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return b""

    return [pid for pid in residents(cluster.instance, HOSTS) if b"sleep\x004321\x00" in command(pid)]


@pytest.mark.disruptive
def test_lost_node_fails_its_job_and_serves_again_when_restored(cluster: Cluster, workdir: Path) -> None:
    job = submit(
        cluster, workdir, "#SBATCH --no-requeue --partition=fragile --nodelist=n8\ntouch ready\nsleep 600", wait=False
    )
    wait_until((workdir / "ready").exists, "the job does not start")
    cluster.cut("n8")
    assert final_state(cluster, job) == "NODE_FAIL"
    assert cluster.node_states()["n8"].startswith("down")
    cluster.restore("n8")
    later = submit(cluster, workdir, "#SBATCH --partition=fragile --nodelist=n8\nhostname")
    assert final_state(cluster, later) == "COMPLETED"


@pytest.mark.exclusive
def test_accounting_catches_up_after_an_outage(cluster: Cluster, workdir: Path) -> None:
    cluster.stop_daemon("slurmdbd")
    try:
        with pytest.raises(ClusterError, match="sacct"):
            cluster.sacct(1)
        job = submit(cluster, workdir, "true")
    finally:
        cluster.start_daemon("slurmdbd")
    assert final_state(cluster, job) == "COMPLETED"


@pytest.mark.exclusive
def test_job_continues_during_a_controller_outage(cluster: Cluster, workdir: Path) -> None:
    job = submit(cluster, workdir, "touch ready\nuntil [[ -e go ]]; do sleep 0.1; done", wait=False)
    wait_until((workdir / "ready").exists, "the job does not start")
    cluster.stop_daemon("slurmctld")
    try:
        (workdir / "go").touch()
    finally:
        cluster.start_daemon("slurmctld")
    assert final_state(cluster, job) == "COMPLETED"


def test_second_user_has_separate_permissions_and_path(cluster: Cluster, workdir: Path) -> None:
    cluster.run(["touch", "alices"], cwd=workdir, check=True)
    assert cluster.run(["cat", str(workdir / "alices")], user="bob").returncode == 0
    assert cluster.run(["rm", "-f", str(workdir / "alices")], user="bob").returncode != 0
    paths = {user: cluster.run(["printenv", "PATH"], user=user).stdout for user in ("alice", "bob")}
    assert str(cluster.instance.venv) in paths["alice"]
    assert str(cluster.instance.venv) not in paths["bob"]
    job = submit(cluster, cluster.home("bob"), "true", user="bob")
    assert final_state(cluster, job) == "COMPLETED"
    assert cluster.sacct(job)[0]["User"] == "bob"


def test_an_unknown_account_is_refused(cluster: Cluster) -> None:
    def refused(user: str, account: str) -> bool:
        argv = ["sbatch", "--test-only", f"--account={account}", "--wrap=true"]
        return cluster.run(argv, user=user, cwd=cluster.home(user)).returncode != 0

    assert not refused("alice", "extra")
    assert refused("bob", "extra")


@pytest.mark.exclusive
def test_up_leaves_a_healthy_cluster_alone(cluster: Cluster) -> None:
    def pids() -> list[int | None]:
        return [recorded_pid(cluster.instance.pidfile(name)) for name in (*HOSTS, *daemons(cluster.instance))]

    # A node that is slow to answer is not well for a moment, and a boot would take the jobs of other tests with it.
    wait_until(lambda: boot.is_well(cluster.instance), "the cluster is not well")
    before = pids()
    assert all(before)
    assert cluster.up() is False
    assert pids() == before


def test_host_system_files_are_unchanged(cluster: Cluster) -> None:
    assert str(cluster.instance.folder) not in Path("/etc/passwd").read_text()
    assert not Path("/etc/slurm/slurm.conf").exists()
    assert not Path("/run/munge/munge.socket.2").exists()
    assert cluster.instance.tag not in Path("/proc/mounts").read_text()
    assert stat.S_IMODE((cluster.instance.etc / "slurm" / "slurmdbd.conf").stat().st_mode) == 0o600


def test_cluster_folder_under_tmp_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAISLURM_CLUSTER_DIR", "/tmp/somewhere")
    with pytest.raises(ClusterError, match="choose a folder elsewhere"):
        default_instance()


@pytest.mark.exclusive
def test_a_slurmd_that_died_is_started_again(cluster: Cluster) -> None:
    cluster.stop_daemon("slurmd-n1", crash=True)
    cluster.revive(("n1", "n2"))
    wait_until(lambda: cluster.node_states()["n1"] in boot.SERVING, "n1 does not come back")
    assert cluster.run(["srun", "--nodelist=n1", "hostname"], user="alice").stdout == "n1\n"
