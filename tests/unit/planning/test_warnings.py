"""What is warned of is what the script does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from paislurm.translator.pipeline import compile_job
from paislurm.translator.planning.environment import MAX_LIST_BYTES, MAX_LIST_VARIABLES, MAX_PEER_VARIABLES

from ..protocol.jobs import JOB, changed

RUNTIME = Path(__file__).parents[3] / "templates" / "runtime"


def test_the_planner_predicts_the_size_of_the_exports() -> None:
    texts = "".join(file.read_text(encoding="utf-8") for file in sorted(RUNTIME.rglob("*.sh")))
    limits = dict(re.findall(r"\bPSL_MAX_(PEER_VARIABLES|LIST_VARIABLES|LIST_BYTES)=(\d+)", texts))
    assert limits == {
        "PEER_VARIABLES": str(MAX_PEER_VARIABLES),
        "LIST_VARIABLES": str(MAX_LIST_VARIABLES),
        "LIST_BYTES": str(MAX_LIST_BYTES),
    }


@pytest.mark.parametrize(("instances", "reported"), [(2, False), (60, False), (100, True), (10_000, True)])
def test_an_environment_that_is_not_exported_gets_a_warning(instances: int, *, reported: bool) -> None:
    many = changed(JOB, "taskRoles/worker/instances", instances)
    text = yaml.safe_dump(changed(many, "taskRoles/worker/resourcePerInstance/ports", {"http": 1}))
    warnings = compile_job(text).warnings
    assert ("W404" in [fault.code for fault in warnings]) is reported
