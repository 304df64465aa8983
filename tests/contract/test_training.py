"""Examples that train, to their end, by the real programs: PyTorch's torchrun, and Ray. `make training` runs them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from tests.cluster import training
from tests.cluster.boot import locked
from tests.cluster.jobs import ROOT
from tests.left_out import not_asked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

pytestmark = pytest.mark.timeout(600)
EXPECTED = {
    "ddp": (["0-worker/0", "0-worker/1"], r"rank [01] of 2: model \[0, 1, 2, 3\]\n", 2),
    "ray-roles": (["0-head/0"], r"tasks ran on \{'[0-9.]+'", 1),
}
"""The logs of an example, an expression of what its tasks print, and how many different texts match.

Ray may run its tasks, which take no time, all on the head. `ray symmetric-run` does not end here: it stops all Ray
processes of the user that it sees, and hosts of the test cluster see those of each other.
"""


@pytest.fixture
def programs(site: Site) -> Path:
    if os.environ.get("PAISLURM_TRAINING") != "1":
        not_asked("downloads 270 MB: `make training` runs it")
    instance = site.administrator.instance
    with locked(instance):
        return training.install(instance)


@pytest.mark.parametrize("example", EXPECTED)
def test_example_trains_to_its_end(site: Site, folder: Path, programs: Path, example: str) -> None:
    path = f"{programs}:{site.environment()['PATH']}"
    job = site.submit(folder, "", file=ROOT / f"examples/{example}.yaml", env={"PATH": path})
    code, result = job.ended()
    tasks, expression, count = EXPECTED[example]
    printed = "".join(job.log(task) for task in tasks)
    assert (code, result["outcome"]) == (0, "succeeded"), printed + job.log(tasks[0], "stderr.log")
    assert len(set(re.findall(expression, printed))) == count, printed
