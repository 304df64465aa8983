"""The loss of a node: what jobs with spare nodes, or that Slurm restarts, request, and which jobs cannot be either."""

from __future__ import annotations

from typing import Any

import pytest

from paislurm.translator.pipeline import Compiled
from paislurm.translator.planning.plan_text import plan_text

from .compiled import PROFILE, compiled, directives, refusal, role, step

TWO = {"a": role(2, 0, 9), "b": role(1, 0, 9)}


def with_spare(roles: dict[str, Any], spare: int, more: str = "", **slurm: object) -> Compiled:
    return compiled(roles, {"slurm": {"spare": spare, **slurm}}, more)


@pytest.mark.parametrize("roles", [TWO, {"a": role(3, 0, 9)}])
@pytest.mark.parametrize("spare", [1, 2])
def test_the_job_requests_more_nodes_than_its_tasks_use(roles: dict[str, Any], spare: int) -> None:
    found = with_spare(roles, spare)
    asked = directives(found)
    assert (found.plan.layout.kind, asked["nodes"], asked["ntasks"]) == ("shared", str(3 + spare), str(3 + spare))
    assert "no-kill" in asked
    assert {nodes.last for each in found.plan.roles for nodes in each.placement} <= {0, 1, 2}
    assert all("no-kill" in step(found, each.position) for each in found.plan.roles)


def test_a_job_without_spare_nodes_has_no_part_of_them() -> None:
    for found in (compiled(TWO), with_spare(TWO, 0)):
        assert not [word for word in ("no-kill", "PSL_FIRST_RUN", "lost-nodes") if word in found.script]


@pytest.mark.parametrize(("version", "shares"), [("", True), ("22.05.8", True), ("24.11.0", False), ("26.05.5", False)])
def test_steps_share_cores_where_slurm_does_not_free_them_after_a_loss(version: str, shares: bool) -> None:
    found = step(with_spare(TWO, 1, f"slurmVersion: {version}\n" if version else ""))
    assert ("overlap" in found, found.get("mem") == "0", "exact" in found) == (shares, shares, not shares)


def test_the_plan_says_what_spare_nodes_cost() -> None:
    (line,) = [line for line in plan_text(with_spare(TWO, 1).plan).splitlines() if line.startswith("spare ")]
    assert "1 of 4 nodes without tasks" in line


@pytest.mark.parametrize(
    ("spare", "slurm", "why"),
    [
        (1, {"layout": "het"}, "Slurm ends a job of the layout het when it loses a node"),
        (6, {}, "the tasks do not fit on the 8 nodes of one size"),
        (1, {"taskRoles": {"b": {"constraint": "big"}}}, "its roles request different partitions, nodes or accounts"),
    ],
)
def test_a_job_that_cannot_have_spare_nodes_is_refused(spare: int, slurm: dict[str, Any], why: str) -> None:
    found = refusal(PROFILE, TWO, {"slurm": {"spare": spare, **slurm}})
    assert (found.code, found.path) == ("E430", "$.extras.slurm.spare")
    assert found.message.endswith(why)


EXPEDITES = "scheduler: {expeditedRequeue: true}\n"


def requested(more: str = EXPEDITES, **slurm: object) -> Compiled:
    return compiled(TWO, {"slurm": {"requeue": "expedite", **slurm}}, more)


def test_slurm_restarts_a_job_of_one_component() -> None:
    found = requested(layout="shared")
    assert directives(found)["requeue"] == "expedite"
    assert "W416" not in [each.code for each in found.plan.warnings]
    assert "#SBATCH --requeue=expedite\n" in found.script
    assert "no-requeue" not in found.script
    assert any(line.startswith("requeue ") for line in plan_text(found.plan).splitlines())


@pytest.mark.parametrize(
    ("more", "slurm", "why"),
    [
        ("", {"layout": "shared"}, "the site profile does not say that its Slurm can"),
        (EXPEDITES, {"layout": "het"}, "the layout het has several components"),
        (EXPEDITES, {"spare": 1}, "Slurm restarts no job that goes on after the loss of a node"),
        (EXPEDITES + "retry: {maxTransientRetries: 0}\n", {"layout": "shared"}, "allows no retries after transient"),
    ],
)
def test_a_job_that_slurm_does_not_restart_gets_a_warning(more: str, slurm: dict[str, object], why: str) -> None:
    found = requested(more, **slurm)
    (warning,) = [each for each in found.plan.warnings if each.code == "W416"]
    assert why in warning.message
    assert "take_over_attempt" not in found.script
    assert all("no-requeue" in dict(each.directives) for each in found.plan.components)


def test_other_jobs_have_no_part_of_a_restart() -> None:
    script = compiled(TWO, {}, EXPEDITES).script
    assert not [word for word in ("owns_attempt", "PSL_FIRST_RUN") if word in script]
