"""Published jobs that train on two nodes, as they stand: Horovod by mpirun and horovodrun, and PyTorch's own DDP.

Their training programs are stood in for, and in containers PyTorch too, since an image with it is large.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster import horovod
from tests.cluster.boot import locked
from tests.cluster.instance import host_name
from tests.cluster.jobs import SITE, STANDIN, states, submit_published
from tests.cluster.running import require_horovod
from tests.cluster.test_fabric import Tree

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster
    from tests.cluster.jobs import Submitted

TRAINER = Path(__file__).with_name("torch_trainer.py")
IMAGE = "horovod/horovod:0.16.4-tf1.12.0-torch1.1.0-mxnet1.4.1-py3.5"
BENCHMARK = "python pytorch_synthetic_benchmark.py --model resnet50 --batch-size 64"
CARRIED = {
    "horovod-pytorch-synthetic-benchmark.yaml": {"NCCL_DEBUG": "INFO", "NCCL_SOCKET_IFNAME": "eth0"},
    "guide-infiniband-horovod.yaml": {
        "NCCL_DEBUG": "INFO",
        "NCCL_IB_DISABLE": "0",
        "NCCL_IB_GDR_LEVEL": "1",
        "NCCL_IB_HCA": "mlx5_0:1",
        "NCCL_SOCKET_IFNAME": "ib0",
        "HOROVOD_MPI_THREADS_DISABLE": "1",
    },
}
"""Variables that mpirun carries to all ranks."""
LATE = """#!/bin/bash
# Starts the worker when the shell of the master is there, so that the master has to wait.
if [[ " $* " == *' --job-name=worker '* ]]; then
  until pgrep -f "^[^ ]*bash -p ${STANDIN_LOG%/log}/.*/job.sbatch --task .* 0$" >/dev/null; do sleep 0.05; done
  echo late >>"$STANDIN_LOG/master-0.calls"
fi
exec /usr/bin/srun "$@"
"""


@pytest.fixture(scope="session")
def horovod_venv(cluster: Cluster) -> Path:
    require_horovod()
    with locked(cluster.instance):
        return horovod.install(cluster.instance)


@pytest.fixture
def horovod_image(image: Path, workdir: Path) -> Path:
    """The image with `python` and `sleep` stood in for, and with what Horovod's says of its environment."""
    copy = workdir / "image"
    subprocess.run(["cp", "--archive", "--link", str(image), str(copy)], check=True)
    programs = copy / "usr/local/bin"
    for name in ("python", "sleep"):
        shutil.copy(STANDIN, programs / name)
    source = Path(__file__).with_name("allreduce.c")
    subprocess.run(["mpicc.openmpi", "-o", str(programs / "allreduce"), str(source)], check=True)
    (copy / "ch").mkdir(exist_ok=True)
    variables = f"LD_LIBRARY_PATH=/usr/local/lib\nSTANDIN_LOG={workdir}/log\nSTANDIN_TRAINING=allreduce\n"
    (copy / "ch/environment").write_text(variables)
    return copy


def ended(job: Submitted) -> list[str]:
    """Wait for the job to succeed with its master, and return the nodes of master and worker, which are two."""
    code, result = job.ended()
    assert (code, result["outcome"]) == (0, "succeeded"), job.log("0-master/0", "stderr.log")
    assert states(result) == ["master-0 SUCCEEDED", "worker-0 STOPPED"]
    nodes = [task["node"] for task in result["tasks"]]
    assert len(set(nodes)) == 2
    return nodes


def check_ranks(out: str, nodes: list[str], size: int, said: str) -> None:
    """Check that the ranks are on the nodes in order, as many on each, and what each of them says."""
    ranks = re.findall(rf"^(?:\[1,\d\]<stdout>:)?rank (\d) of {size} on (\S+): {said}$", out, re.MULTILINE)
    assert sorted(ranks) == [(str(rank), host_name(nodes[rank * len(nodes) // size])) for rank in range(size)], out


def check_training(out: str, nodes: list[str], size: int) -> None:
    """Check that all ranks have come to the same model, and that it is better than the one that they began with."""
    check_ranks(out, nodes, size, rf"loss .*, {size} equal")
    ((before, after),) = set(re.findall(r"loss ([\d.]+) to ([\d.]+),", out))
    assert float(after) < float(before)


def calls(job: Submitted, task: str) -> list[str]:
    return [" ".join(shlex.split(line)) for line in (job.folder / "log" / f"{task}.calls").read_text().splitlines()]


@pytest.mark.parametrize("name", CARRIED)
def test_mpirun_in_containers(
    installed: Cluster, workdir: Path, published: Path, horovod_image: Path, name: str
) -> None:
    """The image has Open MPI, but no ssh, no sshd and no Slurm; what trains is an MPI program of our own."""
    missing = "! command -v ssh sshd srun scontrol"
    subprocess.run(["chroot", str(horovod_image), "bash", "-c", missing], check=True)
    site = SITE.read_text() + "layout: het\n" + Tree(installed, workdir.name).settings()
    site += f"containers: {{runtime: charliecloud, images: {{'{IMAGE}': {horovod_image}}}, mounts: [{workdir}/log]}}\n"
    (workdir / "srun").write_text(LATE)
    (workdir / "srun").chmod(0o755)
    job = submit_published(installed, published / "v2" / name, workdir, {"srun": workdir / "srun"}, site=site)
    nodes = ended(job)
    check_ranks(job.log("0-master/0"), nodes, 8, "36 .*")
    assert calls(job, "master-0") == ["late", "sleep 10", *[BENCHMARK] * 4]
    assert sorted(calls(job, "worker-0")) == [*[BENCHMARK] * 4, "sleep infinity"]
    for task in ("master-0", "worker-0"):
        found = dict(line.split("=", 1) for line in (workdir / "log" / f"{task}.env").read_text().splitlines())
        assert CARRIED[name].items() <= found.items()


@pytest.mark.parametrize(
    ("name", "size"), [("horovod-pytorch-synthetic-benchmark.yaml", 8), ("runtime-sshbarrier_test_job.yaml", 4)]
)
def test_horovod_trains_across_tasks(
    installed: Cluster, workdir: Path, published: Path, horovod_venv: Path, name: str, size: int
) -> None:
    """By mpirun, and by horovodrun, which looks for hosts and networks by ssh before it calls mpirun."""
    programs = {"python": STANDIN, "sleep": STANDIN, "horovodrun": horovod_venv / "bin" / "horovodrun"}
    shutil.copy(TRAINER, workdir)
    environment = {
        "STANDIN_TRAINING": f"{horovod_venv}/bin/python {workdir}/{TRAINER.name}",
        # Ranks that wait would keep the machine's few processors from those that they wait for.
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    site = SITE.read_text() + "layout: het\n"
    job = submit_published(installed, published / "v2" / name, workdir, programs, site=site, env=environment)
    nodes = ended(job)
    check_training(job.log("0-master/0"), nodes, size)


def test_pytorch_trains_across_tasks_with_gloo(installed: Cluster, workdir: Path, published: Path) -> None:
    """Two ranks in each task: what they know of each other is in PAI_* variables."""
    programs = dict.fromkeys(("git", "python", "wget"), STANDIN)
    shutil.copy(TRAINER, workdir)
    environment = {"STANDIN_TRAINING": f"/usr/bin/python3 {workdir}/{TRAINER.name}", "STANDIN_FOLDERS": "apex"}
    file = published / "v2" / "cifar10-single-mul-DDP-gloo.yaml"
    # Nodes that have GPUs for one task.
    site = SITE.read_text().replace("gpus: 4", "gpus: 2")
    job = submit_published(installed, file, workdir, programs, site=site, env=environment)
    code, result = job.ended()
    out = job.log("0-worker/0") + job.log("0-worker/1")
    assert (code, states(result)) == (0, ["worker-0 SUCCEEDED", "worker-1 SUCCEEDED"]), out
    nodes = [task["node"] for task in result["tasks"]]
    assert len(set(nodes)) == 2
    check_training(out, nodes, 4)
    for task in ("worker-0", "worker-1"):
        training = "python cifar10-single-mul-DDP-nccl-gloo.py -n 2 -g 2 --epochs 2 --dist-backend gloo"
        assert calls(job, task)[-1] == training
