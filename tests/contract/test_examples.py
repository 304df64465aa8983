"""Every job file of `examples/`, as it is published."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.yaml") if "taskRoles:" in path.read_text())
SAYS = {
    "hello-world": ("0-hello/0", "hello from task 0 at "),
    "parameter-server": ("1-worker/1", "worker 1 of 2 learns from "),
    "rendezvous": ("0-worker/0", "met 1 2 3"),
    "tolerant-sweep": ("0-trial/7", "trial 7"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(site: Site, folder: Path, name: str) -> None:
    job = site.submit(folder, "", file=ROOT / "examples" / f"{name}.yaml")
    code, result = job.ended()
    assert (code, result["outcome"]) == (0, "succeeded")
    task, text = SAYS[name]
    assert text in job.log(task)
