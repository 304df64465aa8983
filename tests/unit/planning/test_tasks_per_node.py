"""`tasksPerNode`: at most so many tasks of a role on a node, in each layout, and where the nodes are unknown."""

from __future__ import annotations

from typing import Any

import pytest

from paislurm.translator.errors import PlanError

from ..protocol.jobs import changed
from .compiled import UNDESCRIBED, asked, compiled, compiled_for, needed, role

UNEVEN = """
partitions: {mixed: {nodes: [{count: 1, cpus: 8, memoryMB: 100000}, {count: 3, cpus: 1, memoryMB: 100000}]}}
defaultPartition: mixed
"""


def slurm(most: int, **more: Any) -> dict[str, Any]:
    return {"slurm": {"tasksPerNode": most, **more}}


@pytest.mark.parametrize(("most", "nodes", "each"), [(1, "4", "1"), (2, "2", "2"), (3, "2", "2"), (4, "1", "4")])
def test_a_role_has_as_many_nodes_as_the_limit_needs(most: int, nodes: str, each: str) -> None:
    found = asked(compiled({"w": role(4, 0)}, slurm(most)))
    assert (found["nodes"], found["ntasks-per-node"], found["ntasks"]) == (nodes, each, "4")


def test_in_components_a_role_has_its_own_limit_or_the_jobs() -> None:
    roles = {"a": role(3, 0), "b": role(3, 0)}
    found = compiled(roles, slurm(1, layout="het", taskRoles={"b": {"tasksPerNode": 3}}))
    assert [(asked(found, k)["nodes"], asked(found, k)["ntasks-per-node"]) for k in (0, 1)] == [("3", "1"), ("1", "3")]


def test_on_shared_nodes_the_limit_counts_the_tasks_of_one_role() -> None:
    roles = {"a": role(4, 0), "b": role(2, 0), "c": role(5, 0)}
    found = compiled(roles, slurm(1, layout="shared", taskRoles={"c": {"tasksPerNode": 2}}))
    slots = [[(each.first, each.last, each.slots) for each in one.placement] for one in found.plan.roles]
    assert slots == [[(0, 3, 1)], [(0, 1, 1)], [(0, 1, 1), (2, 2, 2), (3, 3, 1)]]
    assert asked(found)["nodes"] == "4"
    assert "PSL_PLACEMENT[2]='0-1:1 2:2 3:1'" in found.script


@pytest.mark.parametrize("layout", ["het", "shared"])
def test_without_gang_allocation_the_slots_keep_the_limit(layout: str) -> None:
    """Twenty tasks of one per node take turns on the eight nodes, or on the six equal ones; of four per node not."""
    roles = {"w": role(20, 0), "v": role(1, 0)}
    limits = {"taskRoles": {"w": {"tasksPerNode": 1}}, "layout": layout}
    found = compiled(roles, {"gangAllocation": False, "slurm": limits})
    assert found.plan.roles[0].slots == {"het": 7, "shared": 6}[layout]
    limits["taskRoles"] = {"w": {"tasksPerNode": 4}}
    assert compiled(roles, {"gangAllocation": False, "slurm": limits}).plan.roles[0].slots == 20


def test_gpus_of_a_partly_filled_node_do_not_lift_the_limit() -> None:
    """Slurm needs the number of tasks per node, and 26.05 starts no such job with GPUs by task."""
    found = asked(compiled({"w": role(5, 1)}, slurm(2)))
    assert found == {
        "nodes": "3", "ntasks": "5", "ntasks-per-node": "2", "gres": "gpu:2", "mem": "272M",
    }  # fmt: skip
    by_task = compiled({"w": role(5, 1)}, slurm(2), "gresStyle: gpus-per-task\n")
    assert asked(by_task) == found
    assert asked(compiled({"w": role(4, 1)}, slurm(2), "gresStyle: gpus-per-task\n"))["gpus-per-task"] == "1"
    assert "ntasks-per-node" not in asked(compiled({"w": role(9, 1)}))


def test_where_nodes_are_unknown_each_holds_as_many_as_the_limit() -> None:
    roles = {"a": role(5, 0), "b": role(3, 0)}
    found = compiled_for(UNDESCRIBED, roles, slurm(2, taskRoles={"b": {"tasksPerNode": 1}}))
    assert {name: asked(found, 0).get(name) for name in ("nodes", "ntasks", "ntasks-per-node")} == {
        "nodes": "3", "ntasks": "5", "ntasks-per-node": "2",
    }  # fmt: skip
    assert (asked(found, 1)["nodes"], asked(found, 1)["ntasks-per-node"]) == ("3", "1")
    assert [each.tasks_per_node for each in found.plan.roles] == [2, 1]
    assert needed(found) == ["6"]


def test_each_node_of_a_role_must_hold_as_many_as_the_limit() -> None:
    assert asked(compiled_for(UNEVEN, {"w": role(4, 0)}, slurm(2)))["nodes"] == "4"
    assert "nodes" not in asked(compiled_for(UNEVEN, {"w": role(10, 0)}))
    with pytest.raises(PlanError, match=r"at most 2 on a node \(tasksPerNode\), do not fit") as e:
        compiled_for(UNEVEN, {"w": role(5, 0)}, slurm(2))
    assert (e.value.diagnostics[0].hint or "").startswith("at most 4 of these tasks fit at a time")


def test_more_tasks_than_the_limit_allows_are_refused_with_the_number_that_fits() -> None:
    with pytest.raises(PlanError, match=r"9 tasks of .* each, at most 1 on a node \(tasksPerNode\), do not fit") as e:
        compiled({"w": role(9, 0)}, slurm(1))
    [diagnostic] = e.value.diagnostics
    assert (diagnostic.code, diagnostic.hint.partition(":")[0]) == ("E410", "at most 8 of these tasks fit at a time")
    for layout in ("het", "shared"):
        with pytest.raises(PlanError, match=f"the requested layout {layout} can never start"):
            compiled({"w": role(9, 0), "v": role(1, 0)}, slurm(1, layout=layout))


def test_fixed_ports_go_before_the_limit() -> None:
    fixed = {"v1": {"fixedPorts": {"w": {"web": 8080}}}}
    one = changed(role(3, 0), "resourcePerInstance/ports", {"web": 1})
    assert asked(compiled({"w": one}, slurm(4, **fixed)))["ntasks-per-node"] == "1"
