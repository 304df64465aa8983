"""Spare nodes: what a job with them requests, and which jobs cannot have them."""

from __future__ import annotations

from typing import Any

import pytest

from paislurm.translator.errors import PlanError
from paislurm.translator.planning.plan_text import plan_text

from .test_gpus import Compiled, compiled, role, step

TWO = {"a": role(2, 0, 9), "b": role(1, 0, 9)}


def with_spare(roles: dict[str, Any], spare: int, more: str = "", **slurm: object) -> Compiled:
    return compiled(roles, {"slurm": {"spare": spare, **slurm}}, more)


def request(found: Compiled) -> dict[str, str | None]:
    (component,) = found.plan.components
    return dict(component.directives)


@pytest.mark.parametrize("roles", [TWO, {"a": role(3, 0, 9)}])
@pytest.mark.parametrize("spare", [1, 2])
def test_the_job_requests_more_nodes_than_its_tasks_use(roles: dict[str, Any], spare: int) -> None:
    found = with_spare(roles, spare)
    asked = request(found)
    assert (found.plan.layout.kind, asked["nodes"], asked["ntasks"]) == ("shared", str(3 + spare), str(3 + spare))
    assert "no-kill" in asked
    assert {nodes.last for each in found.plan.roles for nodes in each.placement} <= {0, 1, 2}
    assert all("no-kill" in step(found, each.position) for each in found.plan.roles)


def test_a_job_without_spare_nodes_has_no_part_of_them() -> None:
    for found in (compiled(TWO), with_spare(TWO, 0)):
        script = found.script
        assert "no-kill" not in script
        assert "PSL_FIRST_RUN" not in script
        assert "lost-nodes" not in script


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
    with pytest.raises(PlanError) as error:
        with_spare(TWO, spare, **slurm)
    (found,) = error.value.diagnostics
    assert (found.code, found.path) == ("E430", "$.extras.slurm.spare")
    assert found.message.endswith(why)
