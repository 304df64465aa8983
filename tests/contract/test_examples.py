"""Every job file of `examples/`, as it is published."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import ROOT, states
from tests.example_jobs import RUNNABLE
from tests.left_out import not_asked
from tests.standins import FOLDER, with_standins

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

NAMES = [file.name for file in RUNNABLE]
SAYS = {
    "checkpoint": ("0-trainer/0", "resumed after step 3\n"),
    "container": ("0-worker/0", "Python 3."),
    "ddp": ("0-worker/1", "rank 1 of 2: model [0, 1, 2, 3]\n"),
    "hello-world": ("0-hello/0", "hello from task 0 at "),
    "horovod": ("0-master/0", "rank 2 of 3: model [0, 1, 2, 3]\n"),
    "inference": ("1-client/1", "client 1 counts: 1, 2,"),
    "jupyter": ("0-notebook/0", "--ServerApp.root_dir=/"),
    "mpi": ("0-rank/0", "\n"),
    "parameter-server": ("1-worker/1", "worker 1 of 2 learns from "),
    "rendezvous": ("0-worker/0", "met 1 2 3"),
    "rl": ("0-learner/0", "learned that arm 3 is the best\n"),
    "secrets": ("0-worker/0", "the token has 16 characters\n"),
    "sweep": ("0-trial/0", "trains with learning rate 0.1 and seed 1\n"),
    "tensorboard": ("0-worker/0", "--logdir . --bind_all\n"),
    "tolerant-sweep": ("0-trial/7", "trial 7"),
    "v1": ("1-worker/1", "worker 1 learns with 0.01 from "),
}
ATTEMPTS = {"checkpoint": 2}
ENDS = {
    "inference": ["server-0 STOPPED", "client-0 SUCCEEDED", "client-1 SUCCEEDED"],
    "parameter-server": ["ps-0 STOPPED", "worker-0 SUCCEEDED", "worker-1 SUCCEEDED"],
}


@pytest.mark.parametrize("name", NAMES)
def test_example(site: Site, folder: Path, name: str) -> None:
    example = name.partition(".")[0]
    shutil.copytree(FOLDER, folder / "standins")
    environment = with_standins(site.environment(), folder / "standins")
    job = site.submit(folder, "", file=ROOT / "examples" / name, env=environment)
    last = ATTEMPTS.get(example, 1) - 1
    code, result = job.ended(attempt=last)
    assert (code, result["outcome"]) == (0, "succeeded")
    task, text = SAYS[example]
    assert text in job.log(task, attempt=last)
    assert states(result) == ENDS.get(example, states(result))
    if example == "rl":
        # The first attempts of the actors play too few games for the learner.
        assert any(each["task_attempt"] for each in result["tasks"])


def test_torchrun_of_pytorch_itself(site: Site, folder: Path) -> None:
    """Four processes in two tasks meet by c10d."""
    if site.run("bash", "-c", "torchrun --help").returncode != 0:
        not_asked("there is no PyTorch here")
    # With Python 3.11, torchrun 1.13 of Debian fails unless it redirects and repeats the output of its processes.
    variables = {"PET_REDIRECTS": "1", "PET_TEE": "1"}
    text = (ROOT / "examples/ddp.yaml").read_text().replace("processes: 1", "processes: 2")
    job = site.submit(folder, "", file=site.write(folder, "ddp.yaml", text), env=variables)
    code, result = job.ended()
    assert (code, result["outcome"]) == (0, "succeeded"), job.log("0-worker/0", "stderr.log")
    printed = job.log("0-worker/0") + job.log("0-worker/1")
    assert [rank for rank in range(4) if f"rank {rank} of 4: model [0, 1, 2, 3]\n" not in printed] == []
