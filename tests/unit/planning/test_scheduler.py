"""A Slurm that starts no job with a component for each role: all roles share one allocation, or the plan refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from paislurm.translator.errors import PlanError

from .compiled import compiled_for, refusal, role

if TYPE_CHECKING:
    from paislurm.translator.pipeline import Compiled

NODES = "{nodes: [{count: 8, cpus: 16, memoryMB: 100000}]}"
SHAPES = f"partitions: {{a: {NODES}, b: {NODES}}}\ndefaultPartition: a\n"
BUILTIN, OFF = "scheduler: {type: builtin}\n", "scheduler: {backfillInterval: -1}\n"


def compiled(profile: str, roles: int = 2, **slurm: Any) -> Compiled:
    return compiled_for(profile, {f"r{number}": role(1, 0, 4, 400) for number in range(roles)}, {"slurm": slurm})


@pytest.mark.parametrize(("scheduler", "why"), [(BUILTIN, "is sched/builtin"), (OFF, "backfill scheduler is off")])
def test_all_roles_share_one_allocation(scheduler: str, why: str) -> None:
    layout = compiled(SHAPES + scheduler).plan.layout
    assert layout.kind == "shared"
    assert why in layout.reason
    assert compiled(SHAPES + scheduler, layout="shared").plan.layout.kind == "shared"
    assert compiled(SHAPES + scheduler, roles=1).plan.layout.kind == "plain"


@pytest.mark.parametrize("scheduler", ["", "scheduler: {}\n", "scheduler: {type: backfill, backfillInterval: 30}\n"])
def test_backfill_allows_a_component_per_role(scheduler: str) -> None:
    layout = compiled(SHAPES + scheduler + "layout: het\n").plan.layout
    assert (layout.kind, layout.reason.partition("; ")[2]) == ("het", "the site prefers it")


@pytest.mark.parametrize(
    ("profile", "slurm", "path", "problem", "hint"),
    [
        (
            SHAPES,
            {"layout": "het"},
            "$.extras.slurm.layout",
            "requests the layout het",
            "remove extras.slurm.layout",
        ),
        ("", {}, "$.taskRoles", "needs a site profile that describes the nodes", "`paislurm site detect`"),
        (SHAPES, {"taskRoles": {"r1": {"partition": "b"}}}, "$.taskRoles", "different partitions", "the same nodes"),
    ],
    ids=["asked", "unknown nodes", "places"],
)
def test_a_job_that_needs_components_is_refused(
    profile: str, slurm: dict[str, Any], path: str, problem: str, hint: str
) -> None:
    fault = refusal(profile + BUILTIN, {f"r{number}": role(1, 0, 4, 400) for number in range(2)}, {"slurm": slurm})
    assert (fault.code, fault.path) == ("E429", path)
    assert problem in fault.message
    assert "Slurm starts no job with a component for each role here: its scheduler is sched/builtin" in fault.message
    assert hint in fault.hint


def test_a_job_that_does_not_fit_one_allocation_is_refused() -> None:
    with pytest.raises(PlanError, match="E414"):
        compiled(SHAPES.replace("count: 8", "count: 1") + BUILTIN, roles=5)
