"""Horovod trains to its end in containers, by mpirun over ssh or by srun: the image has Open MPI and PyTorch for it."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.cluster import horovod
from tests.cluster.boot import locked
from tests.cluster.jobs import ONE_ATTEMPT, ROOT, role
from tests.cluster.running import require_horovod
from tests.left_out import not_asked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Job, Site

IMAGE = "horovod/horovod:0.28.1"
EXAMPLE = ROOT / "examples/horovod.yaml"
TRAINER = ROOT / "tests/cluster/torch_trainer.py"
CPUS = 9
"""More than half of those of a node, so that each task has a node of its own."""


@pytest.fixture
def image_with_horovod(site: Site) -> Path:
    instance = site.administrator.instance
    require_horovod()
    with locked(instance):
        return horovod.install_in_image(instance)


def settings_of(image: Path, *mounts: Path, name: str = IMAGE) -> str:
    folders = ", ".join(map(str, mounts))
    return f"{ONE_ATTEMPT}containers: {{runtime: charliecloud, images: {{'{name}': {image}}}, mounts: [{folders}]}}\n"


def test_example_trains_to_its_end(site: Site, folder: Path, image_with_horovod: Path) -> None:
    job = site.submit(folder, "", settings=settings_of(image_with_horovod), file=EXAMPLE)
    code, result = job.ended()
    printed = job.log("0-master/0")
    assert (code, result["outcome"]) == (0, "succeeded"), printed + job.log("0-master/0", "stderr.log")
    ranks = re.findall(r"^rank (\d) of 3: model \[0, 1, 2, 3\]$", printed, re.MULTILINE)
    assert sorted(ranks) == ["0", "1", "2"], printed


def test_trainer_on_two_nodes(site: Site, folder: Path, image_with_horovod: Path) -> None:
    text = EXAMPLE.read_text()
    text = text.replace("instances: 2", "instances: 1").replace("cpu: 1", f"cpu: {CPUS}").replace(",worker-1:1", "")
    text = text.replace("-np 3", "-np 2").replace("$PWD/train.py", f"{folder}/{TRAINER.name}")
    shutil.copy(TRAINER, folder)
    file = site.write(folder, "two.yaml", text)
    job = site.submit(folder, "", settings=settings_of(image_with_horovod, folder), file=file, partition="pair")
    check_trained(job, "0-master/0")


def test_native_ranks_on_two_nodes(site: Site, folder: Path, image_with_horovod: Path) -> None:
    """Slurm's plugin pmix starts them, without mpirun and ssh."""
    plugins = site.run("srun", "--mpi=list")
    if "pmix" not in re.findall(r"\w+", plugins.stdout + plugins.stderr):
        not_asked("this Slurm has no MPI plugin pmix")
    roles = role("worker", 2, f"python3 {folder}/{TRAINER.name}").replace("memoryMB: 100", "memoryMB: 1024")
    roles = roles.replace("cpu: 1,", f"cpu: {CPUS},")
    extras = "{slurm: {mpi: {plugin: pmix, ranksPerInstance: 1}}}"
    settings = settings_of(image_with_horovod, folder, name="debian") + "mpi: [pmix]\n"
    shutil.copy(TRAINER, folder)
    check_trained(site.submit(folder, roles, extras, settings, partition="pair"), "0-worker/0", "0-worker/1")


def check_trained(job: Job, *tasks: str) -> None:
    """Check that two ranks on two nodes, which began with models of their own, came to one that is better."""
    code, result = job.ended()
    printed = "".join(map(job.log, tasks))
    assert (code, result["outcome"]) == (0, "succeeded"), printed + job.log(tasks[0], "stderr.log")
    ranks = re.findall(r"^rank (\d) of 2 on (\w+): loss ([\d.]+) to ([\d.]+), 2 equal$", printed, re.MULTILINE)
    nodes = [task["node"] for task in result["tasks"]]
    assert len(set(nodes)) == 2
    assert sorted(rank[:2] for rank in ranks) == [("0", nodes[0]), ("1", nodes[1])], printed
    assert all(float(after) < float(before) for _, _, before, after in ranks)
