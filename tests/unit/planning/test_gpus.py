"""GPUs: how they are asked for, of which type, and that none is taken and left idle. CPUs: whole cores."""

from __future__ import annotations

from typing import Any

import pytest

from paislurm.translator.errors import PlanError
from paislurm.translator.site.profile import Site

from .compiled import (
    PROFILE,
    UNDESCRIBED,
    asked,
    compiled,
    compiled_for,
    needed,
    refusal,
    role,
    site_of,
    sku,
    step,
)


def test_gpus_are_requested_per_node_if_all_nodes_are_equal() -> None:
    assert asked(compiled({"w": role(4, 4)})) == {
        "nodes": "2", "ntasks": "4", "ntasks-per-node": "2", "gres": "gpu:8", "mem": "272M",
    }  # fmt: skip


def test_unused_gpus_of_a_partly_filled_node_are_not_requested() -> None:
    assert asked(compiled({"w": role(3, 4)})) == {
        "nodes": "2", "ntasks": "3", "gpus-per-task": "4", "mem-per-cpu": "172M",
    }  # fmt: skip


def test_gpus_with_another_gres_name_are_divided_by_the_tasks() -> None:
    found = compiled({"w": role(3, 4)}, more="gpus: {gres: hip, vendor: amd}\n")
    assert asked(found)["gres"] == "hip:8"
    assert (step(found)["gres"], "gpus-per-task" in step(found)) == ("hip:8", False)
    assert "GPU_VENDOR='amd'" in found.script


def test_slurm_distributes_gpus_if_nodes_are_unknown() -> None:
    """No number of nodes is stated, and GPUs are counted by task: so does the step."""
    found = compiled_for(UNDESCRIBED, {"a": role(2, 1), "b": role(4, 1), "c": role(1, 0)})
    assert [asked(found, k) for k in (1, 2)] == [
        {"ntasks": "4", "gpus-per-task": "1", "mem-per-cpu": "100M"},
        {"ntasks": "1", "mem-per-cpu": "100M"},
    ]
    assert step(found, 1)["gpus-per-task"] == "1"
    assert [each.nodes for each in found.plan.components] == [None] * 3
    assert needed(found) == ["3"]
    assert needed(compiled_for(UNDESCRIBED, {"a": role(2, 1)})) == []
    assert needed(compiled_for(None, {"a": role(2, 1), "b": role(4, 1)})) == []


def test_the_warning_contains_the_number_of_planned_nodes() -> None:
    """A node has a fixed port once; GPUs of another name, and those of several ranks, are counted by node."""
    fixed = {"slurm": {"v1": {"fixedPorts": {"a": {"http": 7000}}}}}
    ports = role(4, 1, resourcePerInstance={"cpu": 1, "memoryMB": 100, "gpu": 1, "ports": {"http": 1}})
    found = compiled_for(UNDESCRIBED, {"a": ports, "b": role(4, 1)}, fixed)
    assert (needed(found), asked(found)["nodes"], "nodes" in asked(found, 1)) == (
        ["5"], "4", False,
    )  # fmt: skip
    hip = "gpus: {gres: hip, vendor: amd}\n"
    found = compiled_for(hip, {"a": role(2, 1), "b": role(4, 2)})
    assert (needed(found), asked(found, 1)["gres"]) == (
        ["6"],
        "hip:2",
    )
    ranks = {"slurm": {"taskRoles": {"b": {"mpi": {"ranksPerInstance": 2}}}}}
    found = compiled_for(UNDESCRIBED, {"a": role(2, 1), "b": role(4, 2, cpus=2)}, ranks)
    assert (needed(found), step(found, 1)["gres"]) == (
        ["5"],
        "gpu:2",
    )


@pytest.mark.parametrize(("kind", "gres"), [("DGX", "gpu:a100:4"), ("V100", "gpu:v100:4"), ("a100", "gpu:a100:4")])
def test_a_node_type_selects_a_gpu_type(kind: str, gres: str) -> None:
    assert asked(compiled({"w": role(1, 4)}, sku(w=kind)))["gres"] == gres


def test_a_node_type_can_still_be_a_constraint_and_must_be_known() -> None:
    assert asked(compiled({"w": role(1, 4)}, sku(w="K80"))).items() >= {"gres": "gpu:4", "constraint": "k80"}.items()
    with pytest.raises(PlanError, match="it has DGX, K80, a100, v100"):
        compiled({"w": role(1, 4)}, sku(w="P100"))


ANY = {"slurm": {"compat": {"gpuType": "any"}}}
TYPED = """
partitions: {gpu: {nodes: [{count: 4, cpus: 16, memoryMB: 100000, gpus: 4, gpuType: v100}]}}
defaultPartition: gpu
"""


@pytest.mark.parametrize("kind", ["K80", "v10"])
def test_an_unknown_gpu_type_is_refused_unless_any_type_is_accepted(kind: str) -> None:
    """It is enough that the profile says of which type its GPUs are. The job's word goes before the site's."""
    site = site_of(TYPED)
    diagnostic = refusal(site, {"w": role(1, 4)}, sku(w=kind))
    assert (diagnostic.code, diagnostic.message) == ("E405", f"the site has no node type {kind!r}; it has v100")
    assert ("did you mean `v100`?" in diagnostic.hint) == (kind == "v10")
    assert "`gpuType: any` under extras.slurm.compat" in diagnostic.hint
    generous = site_of(f"{TYPED}compat: {{gpuType: any}}\n")
    for extras, where in ((sku(w=kind) | ANY, site), (sku(w=kind), generous)):
        found = compiled_for(where, {"w": role(1, 4)}, extras)
        assert asked(found)["gres"] == "gpu:4"
        [said] = [each.message for each in found.warnings if each.code == "W408"]
        assert said == f"the node type {kind!r} has no effect: the site has v100, and `gpuType: any` permits any nodes"
    strict = {"slurm": {"compat": {"gpuType": "error"}}}
    with pytest.raises(PlanError, match="E405"):
        compiled_for(generous, {"w": role(1, 4)}, sku(w=kind) | strict)


@pytest.mark.parametrize("site", [None, site_of("partitions: {gpu: {}}\n")])
def test_a_type_has_no_effect_if_no_types_are_known(site: Site | None) -> None:
    found = compiled_for(site, {"w": role(1, 4)}, sku(w="K80"))
    [said] = [each.message for each in found.warnings if each.code == "W408"]
    assert said == "the node type 'K80' has no effect: the site has no node types"


def test_only_nodes_with_the_type_count() -> None:
    assert asked(compiled({"w": role(4, 4)}, sku(w="V100")))["nodes"] == "4"
    with pytest.raises(PlanError, match="a task of 1 CPU, 100 MiB and 8 v100 GPUs does not fit"):
        compiled({"w": role(1, 8)}, sku(w="V100"))


SLICES = """
partitions:
  mixed:
    nodes:
      - {count: 2, cpus: 16, memoryMB: 100000, gpuTypes: [a100:2, "a100_1g.10gb:7", "a100_3g.40gb:3"]}
      - {count: 2, cpus: 16, memoryMB: 100000, gpus: 4, gpuType: v100}
      - {count: 3, cpus: 32, memoryMB: 100000}
  sliced: {nodes: [{count: 1, cpus: 16, memoryMB: 100000, gpuTypes: ["1g.10gb:4", "3g.40gb:2"]}]}
  pools:
    nodes:
      - {count: 1, cpus: 16, memoryMB: 100000, gpus: 2, gpuType: a100, features: [whole]}
      - {count: 1, cpus: 16, memoryMB: 100000, gpus: 7, gpuType: "1g.10gb", features: [mig]}
  whole:
    nodes:
      - {count: 1, cpus: 16, memoryMB: 100000, gpus: 2, gpuType: a100}
      - {count: 1, cpus: 16, memoryMB: 100000, gpus: 7, gpuType: v100}
defaultPartition: mixed
nodeTypes: {SLICE: {gpuType: "a100_3g.40gb"}}
"""


@pytest.mark.parametrize(
    ("extras", "gpus", "gres"),
    [
        ({}, 2, "gpu:v100:2"),
        ({}, 0, None),
        (sku(w="a100"), 2, "gpu:a100:2"),
        (sku(w="SLICE"), 3, "gpu:a100_3g.40gb:3"),
        (sku(w="A100_1G.10GB"), 7, "gpu:a100_1g.10gb:7"),
        ({"slurm": {"partition": "sliced"}}, 4, "gpu:1g.10gb:4"),
        ({"slurm": {"partition": "pools"}}, 2, "gpu:a100:2"),
        ({"slurm": {"partition": "pools", "constraint": "mig"}}, 7, "gpu:7"),
        ({"slurm": {"partition": "whole"}}, 2, "gpu:2"),
    ],
)
def test_a_task_never_gets_several_types_of_gpus_where_there_are_slices(
    extras: dict[str, Any], gpus: int, gres: str | None
) -> None:
    """The step names the type, too: a job that has whole nodes has all their GPUs."""
    found = compiled_for(SLICES, {"w": role(1, gpus)}, extras)
    assert asked(found).get("gres") == gres
    assert step(found).get("gpus-per-task") == (gres.removeprefix("gpu:") if gres else None)


@pytest.mark.parametrize("layout", ["het", "shared"])
def test_only_gpus_of_the_type_are_counted_on_nodes_with_several(layout: str) -> None:
    extras = sku(a="SLICE", b="SLICE") | {"slurm": {"layout": layout}}
    assert compiled_for(SLICES, {"a": role(1, 2), "b": role(1, 3)}, extras).plan.layout.kind == layout
    for roles in ({"a": role(2, 3), "b": role(1, 1)}, {"a": role(1, 4), "b": role(1, 1)}):
        with pytest.raises(PlanError, match="can never start"):
            compiled_for(SLICES, roles, extras)
    diagnostic = refusal(SLICES, {"a": role(1, 4)}, sku(a="SLICE"))
    assert "4 a100_3g.40gb GPUs does not fit partition mixed (2 nodes of 16 CPUs, 100000 MiB and 3 a100" in str(
        diagnostic
    )
    assert "a task can have at most 3 a100_3g.40gb GPUs there" in diagnostic.hint


def test_components_with_different_types_take_different_nodes() -> None:
    types = {"a": "a100", "b": "a100_1g.10gb", "c": "SLICE"}
    roles = {name: role(1, 1) for name in types}
    with pytest.raises(PlanError, match="can never start"):
        compiled_for(SLICES, roles, sku(**types))
    del roles["c"], types["c"]
    found = compiled_for(SLICES, {**roles, "d": role(3, 0, 32)}, sku(**types))
    assert [asked(found, k).get("gres") for k in range(3)] == ["gpu:a100:1", "gpu:a100_1g.10gb:1", None]


def test_a_type_of_untyped_gpus_is_refused_in_words() -> None:
    untyped = SLICES.replace(", gpuType: v100", "").replace("defaultPartition: mixed", "defaultPartition: whole")
    diagnostic = refusal(untyped.replace("gpus: 2, gpuType: a100", "gpus: 2"), {"w": role(1, 1)}, sku(w="a100"))
    assert (diagnostic.code, "at most no a100 GPUs there" in diagnostic.hint) == ("E410", True)


def test_roles_share_nodes_only_with_equal_gpu_types() -> None:
    roles = {f"r{number}": role(1, 1) for number in range(9)}
    assert compiled(roles).plan.layout.kind == "shared"
    found = compiled({**roles, "cpu": role(1, 0)}, sku(**dict.fromkeys([*roles, "cpu"], "V100")))
    assert (found.plan.layout.kind, asked(found)["gres"]) == ("shared", "gpu:v100:3")
    mixed = {name: "V100" if name == "r0" else "DGX" for name in roles}
    with pytest.raises(PlanError, match="can never start"):
        compiled(roles, sku(**mixed))


def test_tasks_take_whole_cores() -> None:
    """Four tasks of three threads are four times two cores; what tasks are told is what the job says."""
    threads = PROFILE.replace("cpus: 16", "cpus: 16, threadsPerCore: 2")
    found = compiled_for(threads, {"w": role(5, 0, cpus=3)})
    assert asked(found).items() >= {"nodes": "2", "ntasks-per-node": "3"}.items()
    assert step(found)["cpus-per-task"] == "4"
    assert dict(found.plan.roles[0].environment)["PAI_TASK_CPU_NUM"] == "3"


def test_the_cpu_unit_can_be_a_core() -> None:
    found = compiled({"w": role(1, 0)}, more="cpuUnit: core\n")
    assert (asked(found)["hint"], step(found)["hint"]) == ("nomultithread", "nomultithread")
    assert "hint" not in asked(compiled({"w": role(1, 0)}))


@pytest.mark.parametrize(
    ("cpus", "more", "odd"),
    [
        (3, "", True),
        (3, "slurmVersion: 24.05.4\n", True),
        (3, "slurmVersion: 24.11.0\n", False),
        (1, "", False),
        (4, "", False),
    ],
)
def test_the_script_marks_steps_that_may_count_half_a_core_too_much(cpus: int, more: str, odd: bool) -> None:
    assert ("\nPSL_ODD_CPUS[0]=1\n" in compiled({"w": role(2, 0, cpus)}, more=more).script) == odd
