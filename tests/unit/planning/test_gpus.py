"""GPUs: how they are asked for, of which type, and that none is taken and left idle. CPUs: whole cores."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from paislurm.translator.errors import PlanError
from paislurm.translator.pipeline import Compiled, compile_job
from paislurm.translator.site.load import load_site

from ..protocol.jobs import JOB, ROLE, changed

PROFILE = """
partitions:
  gpu:
    nodes:
      - {count: 2, cpus: 16, memoryMB: 100000, gpus: 8, gpuType: a100}
      - {count: 6, cpus: 16, memoryMB: 100000, gpus: 4, gpuType: v100}
defaultPartition: gpu
nodeTypes: {DGX: {gpuType: a100}, K80: {constraint: k80}}
"""


def role(instances: int, gpus: int, cpus: int = 1) -> dict[str, Any]:
    resources = {"cpu": cpus, "memoryMB": 100, "gpu": gpus}
    return {**ROLE, "instances": instances, "resourcePerInstance": resources}


def compiled(roles: dict[str, Any], extras: dict[str, Any] | None = None, more: str = "") -> Compiled:
    job = changed(changed(JOB, "taskRoles", roles), "extras", extras or {})
    return compile_job(yaml.safe_dump(job, sort_keys=False), site=load_site(PROFILE + more, file="site.yaml"))


def asked(found: Compiled, component: int = 0) -> dict[str, str | None]:
    names = ("nodes", "ntasks", "ntasks-per-node", "gres", "gpus-per-task", "constraint", "mem", "mem-per-cpu", "hint")
    return {name: value for name, value in found.plan.components[component].directives if name in names}


def step(found: Compiled, position: int = 0) -> dict[str, str | None]:
    return dict(found.plan.roles[position].step_options)


def sku(**types: str) -> dict[str, Any]:
    return {"hivedScheduler": {"taskRoles": {name: {"skuType": kind} for name, kind in types.items()}}}


def test_gpus_are_counted_by_node_where_all_are_alike() -> None:
    assert asked(compiled({"w": role(4, 4)})) == {
        "nodes": "2", "ntasks": "4", "ntasks-per-node": "2", "gres": "gpu:8", "mem": "272M",
    }  # fmt: skip


def test_gpus_of_a_last_node_that_is_not_full_are_not_taken() -> None:
    assert asked(compiled({"w": role(3, 4)})) == {
        "nodes": "2", "ntasks": "3", "gpus-per-task": "4", "mem-per-cpu": "172M",
    }  # fmt: skip


def test_what_slurm_calls_otherwise_is_divided_by_the_tasks() -> None:
    found = compiled({"w": role(3, 4)}, more="gpus: {gres: hip, vendor: amd}\n")
    assert asked(found)["gres"] == "hip:8"
    assert (step(found)["gres"], "gpus-per-task" in step(found)) == ("hip:8", False)
    assert "GPU_VENDOR='amd'" in found.script


@pytest.mark.parametrize(("kind", "gres"), [("DGX", "gpu:a100:4"), ("V100", "gpu:v100:4"), ("a100", "gpu:a100:4")])
def test_a_node_type_is_a_type_of_gpu(kind: str, gres: str) -> None:
    assert asked(compiled({"w": role(1, 4)}, sku(w=kind)))["gres"] == gres


def test_a_node_type_can_still_be_a_constraint_and_must_be_known() -> None:
    assert asked(compiled({"w": role(1, 4)}, sku(w="K80"))).items() >= {"gres": "gpu:4", "constraint": "k80"}.items()
    with pytest.raises(PlanError, match="it has DGX, K80, a100, v100"):
        compiled({"w": role(1, 4)}, sku(w="P100"))


def test_only_nodes_with_the_type_count() -> None:
    assert asked(compiled({"w": role(4, 4)}, sku(w="V100")))["nodes"] == "4"
    with pytest.raises(PlanError, match="a task of 1 CPUs, 100 MiB and 8 v100 GPUs does not fit"):
        compiled({"w": role(1, 8)}, sku(w="V100"))


def test_roles_share_nodes_only_if_their_gpus_are_alike() -> None:
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
    job = changed(changed(JOB, "taskRoles", {"w": role(5, 0, cpus=3)}), "extras", {})
    found = compile_job(yaml.safe_dump(job, sort_keys=False), site=load_site(threads, file="site.yaml"))
    assert asked(found).items() >= {"nodes": "2", "ntasks-per-node": "3"}.items()
    assert step(found)["cpus-per-task"] == "4"
    assert dict(found.plan.roles[0].environment)["PAI_TASK_CPU_NUM"] == "3"


def test_a_cpu_can_be_a_core() -> None:
    found = compiled({"w": role(1, 0)}, more="cpuUnit: core\n")
    assert (asked(found)["hint"], step(found)["hint"]) == ("nomultithread", "nomultithread")
    assert "hint" not in asked(compiled({"w": role(1, 0)}))
