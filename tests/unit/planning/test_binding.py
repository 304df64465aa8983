"""`binding`: the options of a role's srun, and what the script and the plan say of it."""

from __future__ import annotations

from typing import Any

import pytest

from paislurm.translator.errors import PlanError
from paislurm.translator.planning.plan_text import plan_text

from .compiled import compiled, role, step

NAMES = ("cpu-bind", "mem-bind", "gpu-bind", "ntasks-per-socket", "cpu-freq")


def bound(binding: Any, layout: str, site: str = "") -> list[list[tuple[str, str | None]]]:
    """Return the binding options of a role with GPUs and of one without; the first may have its own binding."""
    roles = {"gpu": role(4, 2), "cpu": role(2, 0)}
    found = compiled(roles, {"slurm": {"layout": layout, **binding}}, site)
    return [[pair for pair in each.step_options if pair[0] in NAMES] for each in found.plan.roles]


@pytest.mark.parametrize("layout", ["het", "shared"])
def test_a_role_goes_before_the_job_and_the_job_before_the_site(layout: str) -> None:
    off: list[tuple[str, str | None]] = [("cpu-bind", "none"), ("mem-bind", "none")]
    assert bound({}, layout) == [[], []]
    assert bound({}, layout, "binding: none\n") == [off, off]
    assert bound({"binding": "auto"}, layout, "binding: none\n") == [[], []]
    of_gpu = {"binding": {"mem": "local"}, "taskRoles": {"gpu": {"binding": "none"}}}
    assert bound(of_gpu, layout) == [off, [("mem-bind", "local")]]


@pytest.mark.parametrize("layout", ["het", "shared"])
def test_gpus_are_bound_where_there_are_some(layout: str) -> None:
    assert bound({"binding": {"gpu": "closest"}}, layout) == [[("gpu-bind", "closest")], []]


def test_a_raw_option_comes_last_and_counts() -> None:
    both = {
        "binding": {"cpu": "cores"},
        "srun": ["--cpu-bind=sockets"],
        "taskRoles": {"gpu": {"srun": ["--cpu-freq=1"]}},
    }
    assert bound(both, "het")[0] == [("cpu-bind", "cores"), ("cpu-bind", "sockets"), ("cpu-freq", "1")]


@pytest.mark.parametrize(
    ("slurm", "setting"),
    [
        ({}, ""),
        ({"binding": "none"}, "none"),
        ({"binding": "none", "srun": ["--mem-bind=local"]}, ""),
        ({"binding": {"cpu": "none"}}, ""),
        ({"binding": {"gpu": "closest"}}, "gpu"),
        ({"srun": ["--tres-bind=gres/gpu:closest"]}, "gpu"),
        ({"binding": "none", "srun": ["--gpu-bind=none"]}, "none gpu"),
    ],
)
def test_the_runtime_leaves_to_slurm_what_it_binds(slurm: dict[str, Any], setting: str) -> None:
    script = compiled({"w": role(4, 2)}, {"slurm": slurm}).script
    assert ("\nPSL_BINDING[0]=" in script) == bool(setting)
    assert not setting or f"\nPSL_BINDING[0]='{setting}'" in script


def test_the_plan_shows_what_differs_from_slurms_default() -> None:
    extras = {"slurm": {"layout": "het", "taskRoles": {"a": {"binding": {"cpu": "cores", "mem": "local"}}}}}
    found = compiled({"a": role(2, 0), "b": role(2, 0)}, extras)
    lines = [line for line in plan_text(found.plan).splitlines() if line.startswith("binding")]
    assert lines == ["binding     --cpu-bind=cores --mem-bind=local for a"]
    assert "--cpu-bind=cores --mem-bind=local" in found.script.replace("'", "").replace(" \\\n   ", "")
    assert "cpu-bind" not in step(found, 1)


def test_ranks_of_one_shared_world_are_bound_alike() -> None:
    slurm = {"layout": "shared", "mpi": {}, "taskRoles": {"b": {"binding": "none"}}}
    with pytest.raises(PlanError, match="need equal CPUs, memory, GPUs and srun options"):
        compiled({"a": role(2, 0), "b": role(2, 0)}, {"slurm": slurm})
