"""Which layout a job gets where a component for each role and one allocation can both start."""

from __future__ import annotations

import pytest

from .compiled import compiled, role, step


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
