"""Layouts: which is chosen, what fits, memory, and a Slurm that restricts them."""

from __future__ import annotations

from typing import Any

import pytest

from paislurm.translator.errors import PlanError
from paislurm.translator.pipeline import Compiled
from paislurm.translator.site.profile import Site

from .compiled import PROFILE, asked, compiled, compiled_for, refusal, role, site_of, sku, step


def chosen(roles: dict[str, tuple[int, int, int]], more: str = "", **slurm: object) -> tuple[str, str]:
    """Return the kind and the last reason; a role is (tasks, GPUs, CPUs)."""
    found = compiled({name: role(*size) for name, size in roles.items()}, {"slurm": slurm}, more)
    return found.plan.layout.kind, found.plan.layout.reason.rpartition("; ")[2]


@pytest.mark.parametrize("count", range(2, 9))
def test_small_roles_share_a_node(count: int) -> None:
    kind, why = chosen({f"r{number}": (1, 0, 1 + number % 2) for number in range(count)})
    nodes = f"a component for each role would need {count} nodes"
    assert (kind, why) == ("shared", f"{nodes} and the backfill scheduler")


def test_the_reason_contains_the_backfill_interval() -> None:
    found = chosen({"a": (1, 0, 1), "b": (1, 0, 1)}, "scheduler: {backfillInterval: 30}\n")
    assert found[1].endswith("the backfill scheduler, which runs every 30 s")


def test_with_equal_node_counts_only_equal_roles_share_an_allocation() -> None:
    assert chosen({"a": (1, 0, 16), "b": (1, 0, 16)})[0] == "shared"
    kind, why = chosen({"a": (1, 0, 16), "b": (1, 0, 15)})
    assert (kind, why) == (
        "het", "one allocation for all roles would need as many nodes, each as large as the largest role",
    )  # fmt: skip


def test_gpus_are_not_left_idle_to_save_a_node_except_on_whole_nodes() -> None:
    roles = {"a": (1, 3, 1), "b": (1, 3, 1), "c": (1, 3, 1)}
    assert chosen(roles) == ("het", "one allocation for all roles would leave 3 GPUs idle")
    assert chosen(roles, "wholeNodes: true\n")[0] == "shared"


def test_roles_with_different_nodes_use_components() -> None:
    features = {"taskRoles": {"b": {"constraint": "big"}}}
    assert chosen({"a": (1, 0, 1), "b": (1, 0, 1)}, **features)[0] == "het"


def test_the_layout_of_the_job_overrides_that_of_the_site() -> None:
    two = {"a": (1, 0, 1), "b": (1, 0, 1)}
    assert chosen(two, "layout: het\n") == ("het", "the site prefers it")
    assert chosen(two, "layout: het\n", layout="shared") == ("shared", "the job requests it")
    many = {f"r{number}": (1, 0, 1) for number in range(9)}
    assert chosen(many, "layout: het\n")[0] == "shared"


def test_tasks_of_one_node_can_open_the_gpus_of_each_other() -> None:
    even, alone = step(compiled({"w": role(4, 2)})), step(compiled({"w": role(1, 2)}))
    assert (even.get("gres"), "gpus-per-task" in even) == ("gpu:8", False)
    assert (alone["gpus-per-task"], "gres-flags" in alone) == ("2", False)
    uneven = {version: step(compiled({"w": role(3, 4)}, more=f"slurmVersion: {version}\n")) for version in
              ("22.05.8", "24.05.0")}  # fmt: skip
    assert [each.get("gres-flags") for each in uneven.values()] == [None, "allow-task-sharing"]


def refused(instances: int, gpus: int, cpus: int, extras: dict[str, Any] | None = None, site: str = PROFILE) -> str:
    """Return the hint of the one diagnostic."""
    diagnostic = refusal(site, {"w": role(instances, gpus, cpus)}, extras)
    assert diagnostic.code == "E410"
    return diagnostic.hint


@pytest.mark.parametrize(
    ("gpus", "cpus", "most"),
    [(9, 1, "8 GPUs"), (0, 17, "16 CPUs"), (9, 17, "16 CPUs and 8 GPUs")],
)
def test_the_error_names_the_maximum_per_task(gpus: int, cpus: int, most: str) -> None:
    said = refused(1, gpus, cpus)
    assert (
        said
        == f"a task can have at most {most} there: request fewer or smaller tasks, or choose another virtual cluster"
    )


def test_the_error_names_only_nodes_of_the_requested_type() -> None:
    assert "at most 4 v100 GPUs there" in refused(1, 5, 1, sku(w="V100"))


@pytest.mark.parametrize(("gpus", "fit"), [(1, 40), (3, 10), (8, 2)])
def test_the_error_names_how_many_tasks_fit(gpus: int, fit: int) -> None:
    said = refused(fit + 1, gpus, 1)
    assert said.startswith(f"at most {fit} of these tasks fit at a time: request fewer, or set extras.gangAllocation")


def test_slurm_distributes_tasks_that_only_fit_unevenly() -> None:
    """Ten tasks of three GPUs: two on each node of eight GPUs, one on each of four."""
    found = compiled({"w": role(10, 3)})
    assert asked(found) == {"ntasks": "10", "gpus-per-task": "3", "mem-per-cpu": "172M"}
    assert "different numbers of tasks on its nodes" in found.plan.layout.reason
    assert asked(compiled({"w": role(8, 3)}))["nodes"] == "8"


def test_the_error_names_a_partition_with_room() -> None:
    big = "  big: {nodes: [{count: 1, cpus: 64, memoryMB: 100000, gpus: 16}]}\n"
    more = PROFILE.replace("defaultPartition", f"{big}defaultPartition")
    assert refused(1, 0, 17, site=more).endswith("or choose another virtual cluster; partition big has room for it")
    assert "has room" not in refused(4, 0, 17, site=more)


NODES = "{nodes: [{count: 8, cpus: 16, memoryMB: 100000}]}"
SHAPES = f"partitions: {{a: {NODES}, b: {NODES}}}\ndefaultPartition: a\n"
BUILTIN, OFF = "scheduler: {type: builtin}\n", "scheduler: {backfillInterval: -1}\n"


def with_profile(profile: str, roles: int = 2, **slurm: Any) -> Compiled:
    return compiled_for(profile, {f"r{number}": role(1, 0, 4, 400) for number in range(roles)}, {"slurm": slurm})


@pytest.mark.parametrize(("scheduler", "why"), [(BUILTIN, "is sched/builtin"), (OFF, "backfill scheduler is off")])
def test_all_roles_share_one_allocation(scheduler: str, why: str) -> None:
    layout = with_profile(SHAPES + scheduler).plan.layout
    assert layout.kind == "shared"
    assert why in layout.reason
    assert with_profile(SHAPES + scheduler, layout="shared").plan.layout.kind == "shared"
    assert with_profile(SHAPES + scheduler, roles=1).plan.layout.kind == "plain"


@pytest.mark.parametrize("scheduler", ["", "scheduler: {}\n", "scheduler: {type: backfill, backfillInterval: 30}\n"])
def test_backfill_allows_a_component_per_role(scheduler: str) -> None:
    layout = with_profile(SHAPES + scheduler + "layout: het\n").plan.layout
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
        with_profile(SHAPES.replace("count: 8", "count: 1") + BUILTIN, roles=5)


UNKNOWN = Site.of()
KNOWN = site_of("partitions: {p: {nodes: [{count: 9, cpus: 6, memoryMB: 9000}]}}\ndefaultPartition: p\n")


def wants(instances: int, memory: int) -> dict[str, Any]:
    return role(instances, 0, 3, memory, completion={"minSucceededInstances": -1})


@pytest.mark.parametrize(("memory", "nodes"), [(4464, 1), (4465, 2)])
def test_a_node_has_room_for_the_batch_script_beside_the_tasks(memory: int, nodes: int) -> None:
    """Of the 9000 MiB of a node, it has 72."""
    (component,) = compiled_for(KNOWN, {"r0": wants(2, memory)}).plan.components
    assert component.nodes == nodes


@pytest.mark.parametrize(
    ("site", "instances", "memory", "asked", "note"),
    [
        (UNKNOWN, [2], 1000, ("mem-per-cpu", "358M"), "memory of each CPU raised by 24 MiB"),  # 334 without
        (UNKNOWN, [2], 1001, ("mem-per-cpu", "358M"), "memory of each CPU raised by 24 MiB"),
        (UNKNOWN, [2], 0, None, ""),
        (KNOWN, [2], 1000, ("mem", "2072M"), "memory raised by 72 MiB"),
        (KNOWN, [3], 1000, ("mem", "2072M"), "memory of each node raised by 72 MiB"),
        (KNOWN, [3], 0, None, ""),
        (KNOWN, [1, 1], 1000, ("mem", "2080M"), "memory raised by 80 MiB"),
        (KNOWN, [1, 2], 1000, ("mem", "2080M"), "memory of each node raised by 80 MiB"),
        (KNOWN, [1, 2], 0, None, ""),
    ],
)
def test_the_note_and_the_request_agree_about_added_memory(
    site: Site, instances: list[int], memory: int, asked: tuple[str, str] | None, note: str
) -> None:
    roles = {f"r{number}": wants(count, memory) for number, count in enumerate(instances)}
    compiled = compiled_for(site, roles, {"slurm": {"layout": "shared"}} if site is KNOWN else {})
    (component,) = compiled.plan.components
    found = [option for option in component.directives if option[0].startswith("mem")]
    assert found == ([asked] if asked else [])
    assert (component.note or "").partition(" for the batch")[0] == note
    head = " ".join(compiled.script.partition("paislurm runtime")[0].replace("\n# ", " ").split())
    assert (" raised by " in head) is bool(note)
    assert f"{note[1:]} for the batch script" in head or not note
