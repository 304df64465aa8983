"""Jobs that Slurm restarts after the loss of a node: what they request, and which jobs it does not restart."""

from __future__ import annotations

import pytest

from paislurm.translator.planning.plan_text import plan_text

from .test_gpus import Compiled, compiled, role

TWO = {"a": role(2, 0, 9), "b": role(1, 0, 9)}
SITE = "scheduler: {expeditedRequeue: true}\n"


def requested(more: str = SITE, **slurm: object) -> Compiled:
    return compiled(TWO, {"slurm": {"requeue": "expedite", **slurm}}, more)


def test_slurm_restarts_a_job_of_one_component() -> None:
    found = requested(layout="shared")
    assert dict(found.plan.components[0].directives)["requeue"] == "expedite"
    assert "W416" not in [each.code for each in found.plan.warnings]
    assert "#SBATCH --requeue=expedite\n" in found.script
    assert "no-requeue" not in found.script
    assert any(line.startswith("requeue ") for line in plan_text(found.plan).splitlines())


@pytest.mark.parametrize(
    ("more", "slurm", "why"),
    [
        ("", {"layout": "shared"}, "the site profile does not say that its Slurm can"),
        (SITE, {"layout": "het"}, "the layout het has several components"),
        (SITE, {"spare": 1}, "Slurm restarts no job that goes on after the loss of a node"),
        (SITE + "retry: {maxTransientRetries: 0}\n", {"layout": "shared"}, "allows no retries after transient"),
    ],
)
def test_a_job_that_slurm_does_not_restart_gets_a_warning(more: str, slurm: dict[str, object], why: str) -> None:
    found = requested(more, **slurm)
    (warning,) = [each for each in found.plan.warnings if each.code == "W416"]
    assert why in warning.message
    assert "take_over_attempt" not in found.script
    assert all("no-requeue" in dict(each.directives) for each in found.plan.components)


def test_other_jobs_have_no_part_of_it() -> None:
    script = compiled(TWO, {}, SITE).script
    assert "owns_attempt" not in script
    assert "PSL_FIRST_RUN" not in script
