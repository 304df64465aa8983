"""A job that can never start says so, and what would."""

from __future__ import annotations

from typing import Any

import pytest

from .compiled import PROFILE, asked, compiled, refusal, role, sku


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
