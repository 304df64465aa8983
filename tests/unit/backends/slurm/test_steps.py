"""What sstat prints of steps. The lines are those of 24.11, with GPUs as its manual has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.backends.slurm.steps import (
    Allocated,
    StepUsage,
    accounted_usages,
    allocations,
    srun_beside,
    sstat,
    step_usages,
)

LINES = """\
3.batch|1|00:00:00|40316928|40316928|cpu=00:00:00,energy=0,mem=40316928
3.1|2|00:00:03|51019776|51314688|cpu=00:00:03,energy=0,mem=51019776
4.0|1|1-02:03:04|1536M|2G|cpu=00:00:00,gres/gpumem=1073741824,gres/gpuutil=87
"""


def test_steps_are_grouped_by_job() -> None:
    assert step_usages(LINES) == {
        (3, 1): StepUsage(2, 3, 49, 49, None, None),
        (4, 0): StepUsage(1, 93784, 1536, 2048, 87, 1024),
    }


def test_step_accounting_contains_step_names() -> None:
    pairs = zip(LINES.splitlines(), ("batch", "worker", "a|b"), strict=True)
    lines = "".join(f"{line}|10|20|10|node=1|n1|{name}\n" for line, name in pairs)
    assert accounted_usages(lines + "3||||||10|20|10|node=1|n1|job\n") == [
        (3, "worker", StepUsage(2, 3, 49, 49, None, None)),
        (4, "a|b", StepUsage(1, 93784, 1536, 2048, 87, 1024)),
    ]


def test_allocations_are_the_rows_of_jobs_that_started() -> None:
    lines = """\
3||||||1764255605|1764255665|60|billing=4,cpu=4,gres/gpu=2,gres/gpu:v100=2,mem=100M,node=2|n[1-2]|train
3.batch|1|00:00:00|40316928|40316928||1764255605|1764255665|60|cpu=2,mem=50M,node=1|n1|batch
4||||||1764255605|Unknown|12|billing=1,cpu=1,node=1|n3|a|b
5||||||Unknown|Unknown|0||None assigned|waits
6||||||None|1764255605|0||None assigned|cancelled
"""
    assert allocations(lines) == [
        Allocated(3, 1764255605, 1764255665, 60, 2, 4, 2, "n[1-2]"),
        Allocated(4, 1764255605, None, 12, 1, 1, None, "n3"),
    ]


@pytest.mark.parametrize(
    "line", ["5.0|1||||", "5.0|1|00:00:00|0|0|", "5.0|0|00:00:01|1|1|", "5.0|1|soon|1|1|", "5|1|00:00:01|1|1|", "5.0|1"]
)
def test_a_step_without_usage_is_omitted(line: str) -> None:
    assert step_usages(line) == {}


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    assert all(usage.tasks > 0 for usage in step_usages(text).values())
    assert all(found.nodes > 0 for found in allocations(text))


def test_all_components_need_one_query() -> None:
    assert "--jobs=7,8" in sstat(["7", "8"])
    assert "--het-group=0,2" in srun_beside("7", ["n1", "n2"], (0, 2), ["true"])
    words = srun_beside("7", ["n1", "n2"], (), ["true"])
    assert {"--nodelist=n1,n2", "--nodes=2", "--ntasks=2", "--overlap", "--mem=0", "--gres=none"} < set(words)
    assert words[-1] == "true"
