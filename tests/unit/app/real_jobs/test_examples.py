"""The examples run, and do what they say: real jobs on this machine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.load import load_site
from tests.example_jobs import EXAMPLES, FOLDER, NOT_RUN, RUNNABLE
from tests.standins import with_standins

from ..ran import run_here

PRINTED = {
    "checkpoint": {"trainer-0": "resumed after step 3\nstep 4\nstep 5\nstep 6\ndone: model 3.0\n"},
    "container": {"worker-0": "Python 3."},
    "ddp": {f"worker-{rank}": f"rank {rank} of 2: model [0, 1, 2, 3]\n" for rank in range(2)},
    "hello-world": {"hello-1": "hello from task 1 at"},
    "horovod": {"master-0": "rank 2 of 3: model [0, 1, 2, 3]"},
    "inference": {f"client-{index}": f"client {index} counts: 1, 2," for index in range(2)},
    "jupyter": {"notebook-0": "--ServerApp.root_dir=/"},
    "mpi": {"rank-0": 6 * f"{os.uname().nodename}\n"},
    "parameter-server": {"ps-0": "serving on", "worker-1": "worker 1 of 2 learns from"},
    "rendezvous": {"worker-0": "met 1 2 3\n", "worker-3": "3 was told welcome\n"},
    "rl": {"learner-0": "learned that arm 3 is the best\n", "actor-1": "actor 1 plays, attempt 0\n"},
    "secrets": {"worker-0": "the token has 16 characters\n"},
    "sweep": {"trial-0": "trains with learning rate 0.1 and seed 1\n"},
    "tensorboard": {"worker-0": "--logdir . --bind_all\n"},
    "tolerant-sweep": {"trial-7": "trial 7\n"},
    "v1": {"server-0": "serving on", "worker-1": "worker 1 learns with 0.01 from"},
}
STATES = {
    "horovod": {"worker-0": "STOPPED", "worker-1": "STOPPED"},
    "inference": {"server-0": "STOPPED"},
    "mpi": {"rank-1": "STOPPED", "rank-2": "STOPPED"},
    "parameter-server": {"ps-0": "STOPPED"},
    "tolerant-sweep": {"trial-5": "SUCCEEDED", "trial-6": "FAILED", "trial-7": "FAILED"},
    "v1": {"server-0": "STOPPED"},
}
ATTEMPTS = {"checkpoint": 2}
ENDS_ANYHOW = ("rl", "actor")
"""An example, and its role whose tasks succeed or are stopped: each ends when it sees that another role has."""


def test_every_example_is_tested() -> None:
    assert {file.stem for file in EXAMPLES} == set(PRINTED) | NOT_RUN


def test_every_example_states_its_purpose() -> None:
    assert [file.name for file in EXAMPLES if not file.read_text().startswith(("# ", "// "))] == []


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_has_no_warning_but_that_of_its_image(file: Path) -> None:
    site = load_site((FOLDER / "site.yaml").read_bytes(), file="site.yaml")
    compiled = compile_job(file.read_bytes(), file=file.name, site=site)
    assert {each.code for each in compiled.warnings} <= {"W402"}


@pytest.mark.parametrize("file", RUNNABLE, ids=lambda file: file.stem)
def test_example(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in with_standins(os.environ).items():
        monkeypatch.setenv(name, value)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    done = run_here(str(file))
    assert done.code == 0, done.view
    folder = done.folder
    last = f"attempts/{ATTEMPTS.get(file.stem, 1) - 1}"
    result: dict[str, Any] = json.loads((folder / f"{last}/result.json").read_text())
    assert result["outcome"] == "succeeded"
    states = {f"{task['role']}-{task['index']}": task["state"] for task in result["tasks"]}
    expected = {**dict.fromkeys(states, "SUCCEEDED"), **STATES.get(file.stem, {})}
    for task in [task for task in states if (file.stem, task.partition("-")[0]) == ENDS_ANYHOW]:
        assert states.pop(task) in {expected.pop(task), "STOPPED"}
    assert states == expected
    for task, text in PRINTED[file.stem].items():
        role, _, index = task.rpartition("-")
        (log,) = folder.glob(f"{last}/logs/*-{role}/{index}.stdout.log")
        assert text in log.read_text()
