"""InfiniBand: jobs that ask for it get the site's, jobs that do not keep off, and nodes are looked at first.

Nodes n1 and n2 have the feature `ib` and a generic resource `hca`. Their adapters are files in a tree of the test.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.cluster.instance import require_privilege
from tests.cluster.jobs import BOTH, ONE_ATTEMPT, Submitted, paislurm, role, states, submit, submit_file, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster

SITE = """\
infiniband:
  adapters: [mlx5_0, "mlx5_1:1"]
  interface: ib0
  ethernet: eth7
  constraint: ib
  gres: hca:1
  memlockMB: MEMLOCK
  sysfs: SYSFS
  variables: {enabled: {NCCL_IB_GID_INDEX: 3}}
"""
ON = "    extraContainerOptions: {infiniband: true}\n"
LAUNCHERS = "^(OMPI_MCA_(plm|ras|btl_sm_exclusivity|coll_han_priority)|I_MPI_HYDRA)"
"""What every task has, so that launchers start their daemons by ssh."""
LOOK = (
    f'{{ env | grep -E "^(NCCL|UCX|OMPI|I_MPI|FI|GLOO)_" | grep -Ev "{LAUNCHERS}" || true; }} | sort >vars; '
    "ulimit -S -l >limit"
)


class Tree:
    """What nodes have in place of /sys/class, each in a folder of its own."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        require_privilege("files of each node")
        self.cluster = cluster
        self.path = f"/tmp/sys-{name[-40:]}"
        for node in ("n1", "n2", "n3", "n4"):
            self.run(node, "mkdir -p infiniband/mlx5_{0,1}/ports/1 net/ib0 net/eth7")
            self.run(
                node, "echo 4: ACTIVE | tee infiniband/mlx5_{0,1}/ports/1/state; echo up | tee net/{ib0,eth7}/operstate"
            )

    def run(self, node: str, command: str) -> None:
        where = f"mkdir -p {self.path} && cd {self.path} && "
        self.cluster.run(["bash", "-c", where + command], host=node, check=True)

    def settings(self, memlock: str = "1") -> str:
        return ONE_ATTEMPT + SITE.replace("SYSFS", self.path).replace("MEMLOCK", memlock)


@pytest.fixture
def tree(installed: Cluster, workdir: Path) -> Tree:
    return Tree(installed, workdir.name)


def variables(job: Submitted, task: str) -> dict[str, str]:
    text = (job.work(task) / "vars").read_text()
    return dict(line.split("=", 1) for line in text.splitlines())


def component(job: Submitted, number: int = 0) -> dict[str, str]:
    """Return the options of a component of the script."""
    script = job.script()
    lines = [line for line in script.splitlines() if line.startswith("#SBATCH ")]
    parts = "\n".join(lines).split("#SBATCH hetjob\n")[number].splitlines()
    options = (line.removeprefix("#SBATCH --").partition("=") for line in parts)
    return {name: value for name, _, value in options}


@BOTH
def test_infiniband_role_gets_nodes_variables_and_memlock(tree: Tree, workdir: Path, layout: str) -> None:
    """They run where the InfiniBand is, with its variables, and can lock what the node lets them."""
    roles = role("worker", 2, LOOK, more=ON).replace("cpu: 1", "cpu: 9") + role("ps", 1, LOOK)
    name = write(workdir, roles, f"{{slurm: {{layout: {layout}}}}}", tree.settings())
    # Slurm passes on the soft limit of the shell that submits, in KiB.
    words = f"ulimit -S -l 64; exec paislurm submit --json --site site.yaml job.yaml >{workdir}/submitted"
    done = tree.cluster.run(["bash", "-c", words], cwd=workdir)
    assert done.returncode == 0, done.stderr
    assert "W412" in done.stderr
    job = Submitted(tree.cluster, workdir, name, tree.cluster.home("alice") / ".paislurm")
    code, result = job.ended()
    assert (code, set(states(result))) == (0, {"worker-0 SUCCEEDED", "worker-1 SUCCEEDED", "ps-0 SUCCEEDED"})
    assert {task["node"] for task in result["tasks"] if task["role"] == "worker"} == {"n1", "n2"}
    for index in range(2):
        assert variables(job, f"0-worker/{index}") == {
            "NCCL_IB_DISABLE": "0",
            "NCCL_IB_HCA": "mlx5_0,mlx5_1:1",
            "NCCL_IB_GID_INDEX": "3",
            "NCCL_SOCKET_IFNAME": "ib0",
            "GLOO_SOCKET_IFNAME": "ib0",
            "UCX_NET_DEVICES": "mlx5_0:1,mlx5_1:1",
            "OMPI_MCA_btl_openib_allow_ib": "1",
            "OMPI_MCA_btl_openib_if_include": "mlx5_0,mlx5_1:1",
            "I_MPI_OFI_PROVIDER": "mlx",
            "FI_VERBS_IFACE": "ib0",
        }
        hard = tree.cluster.run(["bash", "-c", "ulimit -H -l"]).stdout
        assert (job.work(f"0-worker/{index}") / "limit").read_text() == hard != "64\n"
    assert variables(job, "1-ps/0") == {}
    assert (component(job)["constraint"], component(job)["gres"]) == ("ib", "hca:1")
    plan = paislurm(tree.cluster, workdir, "plan", "--site", "site.yaml", "job.yaml").stdout
    wanted = "worker with InfiniBand: adapters mlx5_0,mlx5_1:1; interface ib0; memory to lock 1 MiB\n"
    assert wanted in plan


def test_job_without_infiniband_request_gets_ethernet_variables(tree: Tree, workdir: Path) -> None:
    """And what its own commands set wins; the shell that submits has no say."""
    write(workdir, role("worker", 1, f"export UCX_TLS=mine; {LOOK}"), settings=tree.settings())
    job = submit_file(tree.cluster, workdir, env={"NCCL_IB_DISABLE": "0", "NCCL_SOCKET_IFNAME": "login0"})
    assert job.ended()[0] == 0
    assert variables(job, "0-worker/0") == {
        "NCCL_IB_DISABLE": "1",
        "NCCL_SOCKET_IFNAME": "eth7",
        "GLOO_SOCKET_IFNAME": "eth7",
        "UCX_NET_DEVICES": "eth7",
        "UCX_TLS": "mine",
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "^openib,uct,ofi",
        "OMPI_MCA_btl_tcp_if_exclude": "127.0.0.1/8,sppp,docker0,ib0",
        "OMPI_MCA_coll_hcoll_enable": "0",
        "OMPI_MCA_coll_ucc_enable": "0",
        "I_MPI_OFI_PROVIDER": "tcp",
        "FI_PROVIDER": "^verbs,mlx,psm,psm2,psm3,opx",
        "FI_TCP_IFACE": "eth7",
    }
    assert not {"constraint", "gres"} & component(job).keys()


def test_job_envs_of_v1_override_infiniband_variables(tree: Tree, workdir: Path) -> None:
    write(workdir, "", settings=tree.settings())
    job_file = {
        "jobName": workdir.name[-30:].strip("-"),
        "image": "debian",
        "jobEnvs": {"paiAzRDMA": True, "NCCL_SOCKET_IFNAME": "own0"},
        "taskRoles": [{"name": "w", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 100, "gpuNumber": 0, "command": LOOK}],
    }
    (workdir / "job.json").write_text(json.dumps(job_file))
    job = submit_file(tree.cluster, workdir, "job.json")
    assert job.ended()[0] == 0
    found = variables(job, "0-w/0")
    assert (found["NCCL_SOCKET_IFNAME"], found["NCCL_IB_DISABLE"]) == ("own0", "0")


@BOTH
def test_missing_adapter_fails_the_job_before_any_task_starts(tree: Tree, workdir: Path, layout: str) -> None:
    tree.run("n2", "rm -r infiniband/mlx5_1")
    roles = role("worker", 2, LOOK, more=ON).replace("cpu: 1", "cpu: 9") + role("ps", 1, LOOK)
    job = submit(tree.cluster, workdir, roles, f"{{slurm: {{layout: {layout}}}}}", tree.settings())
    code, result = job.ended()
    lacks = f"there is no InfiniBand adapter mlx5_1 in {tree.path}/infiniband"
    assert (code, result["exit_code"], result["behaviour"]) == (1, 252, "permanent")
    assert result["reason"] == f"node n2: {lacks} (site profile: infiniband.adapters)"
    assert all(task["state"] != "SUCCEEDED" and task["started_at"] is None for task in result["tasks"])
    assert f"node n2: {lacks}" in paislurm(tree.cluster, workdir, "status", job.name).stdout


@BOTH
def test_nodes_that_differ_are_named_before_the_tasks_start(tree: Tree, workdir: Path, layout: str) -> None:
    """A slow port, and errors of a cable; the job runs."""
    for node, rate, errors in (("n1", "200 Gb/sec (4X HDR)", 0), ("n2", "100 Gb/sec (2X HDR)", 4321)):
        port = "infiniband/mlx5_1/ports/1"
        tree.run(
            node, f"mkdir {port}/counters; echo {errors} >{port}/counters/symbol_error; echo '{rate}' >{port}/rate"
        )
    roles = role("worker", 2, "true", more=ON).replace("cpu: 1", "cpu: 9")
    job = submit(tree.cluster, workdir, roles, f"{{slurm: {{layout: {layout}}}}}", tree.settings())
    assert job.ended()[0] == 0
    log = (job.attempt / "slurm.log").read_text()
    differs = "warning: the nodes differ: mlx5_1 port 1 runs at"
    assert re.search(
        f"{differs} (200 Gb/s on node n1, and 100 Gb/s on node n2|100 .* n2, and 200 .* n1)$", log, re.MULTILINE
    )
    counted = "warning: node n2: mlx5_1 port 1 has counted 4321 symbol_error; the median of the 2 nodes is 0\n"
    assert counted in log
