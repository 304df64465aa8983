"""Every job file of `examples/`, as it is published."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import ROOT
from tests.example_jobs import EXAMPLES
from tests.standins import FOLDER, with_standins

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

NAMES = [file.name for file in EXAMPLES]
SAYS = {
    "checkpoint": ("0-trainer/0", "resumed after step 3\n"),
    "container": ("0-worker/0", "Python 3."),
    "ddp": ("0-worker/1", "rank 1 of 2: model [0, 1, 2, 3]\n"),
    "hello-world": ("0-hello/0", "hello from task 0 at "),
    "horovod": ("0-master/0", "rank 2 of 3: model [0, 1, 2, 3]\n"),
    "jupyter": ("0-notebook/0", "--ServerApp.root_dir=/"),
    "mpi": ("0-rank/0", "\n"),
    "parameter-server": ("1-worker/1", "worker 1 of 2 learns from "),
    "rendezvous": ("0-worker/0", "met 1 2 3"),
    "secrets": ("0-worker/0", "the token has 16 characters\n"),
    "sweep": ("0-trial/0", "trains with learning rate 0.1 and seed 1\n"),
    "tensorboard": ("0-worker/0", "--logdir . --bind_all\n"),
    "tolerant-sweep": ("0-trial/7", "trial 7"),
    "v1": ("1-worker/1", "worker 1 learns with 0.01 from "),
}
ATTEMPTS = {"checkpoint": 2}


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
