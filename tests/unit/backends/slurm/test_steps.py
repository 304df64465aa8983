"""What sstat prints of steps. The lines are those of 24.11, with GPUs as its manual has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.backends.slurm.steps import StepUsage, accounted_usages, srun_beside, sstat, step_usages

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
    lines = "".join(
        f"{line}|{name}\n" for line, name in zip(LINES.splitlines(), ("batch", "worker", "a|b"), strict=True)
    )
    assert accounted_usages(lines + "3|||||\n") == [
        (3, "worker", StepUsage(2, 3, 49, 49, None, None)),
        (4, "a|b", StepUsage(1, 93784, 1536, 2048, 87, 1024)),
    ]


@pytest.mark.parametrize(
    "line", ["5.0|1||||", "5.0|1|00:00:00|0|0|", "5.0|0|00:00:01|1|1|", "5.0|1|soon|1|1|", "5|1|00:00:01|1|1|", "5.0|1"]
)
def test_a_step_without_usage_is_omitted(line: str) -> None:
    assert step_usages(line) == {}


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    assert all(usage.tasks > 0 for usage in step_usages(text).values())


def test_all_components_need_one_query() -> None:
    assert "--jobs=7,8" in sstat(["7", "8"])
    assert "--het-group=0,2" in srun_beside("7", ["n1", "n2"], (0, 2), ["true"])
    words = srun_beside("7", ["n1", "n2"], (), ["true"])
    assert {"--nodelist=n1,n2", "--nodes=2", "--ntasks=2", "--overlap", "--mem=0", "--gres=none"} < set(words)
    assert words[-1] == "true"
