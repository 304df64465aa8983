"""Hooks and the working folder of commands."""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.job import Hooks, Lines, Prerequisite, Script
from paislurm.translator.pipeline import Compiled
from paislurm.translator.planning.plan_text import plan_text
from paislurm.translator.planning.roles import hook_scripts, ordered_hooks

from ..protocol.jobs import JOB, ROLE
from .compiled import compiled_for

LINES = Lines(first=1, last=1)


def prerequisite(name: str, *requires: str) -> Prerequisite:
    scripts = tuple(Script(phase=phase, text=name) for phase in ("exit", "success", "start"))
    return Prerequisite(name=name, kind="prerequisite", scripts=scripts, lines=LINES, requires=requires)


def names(hooks: Hooks) -> str:
    return " ".join(each.name for each in ordered_hooks(hooks))


def test_requirements_come_first_depth_first_and_once() -> None:
    known = (prerequisite("a", "b", "c"), prerequisite("b", "d"), prerequisite("c", "d", "e"))
    known += (prerequisite("d"), prerequisite("e"), prerequisite("f"))
    plugin = Prerequisite(name="cmd", kind="plugin", scripts=(), lines=LINES)
    assert names(Hooks(requested=("e", "a", "d"), resolved=known, plugins=(plugin, plugin))) == "e d b c a cmd cmd"
    assert names(Hooks(requested=("nothing", "b"), resolved=known)) == "d b"


def test_a_long_chain_does_not_exceed_the_recursion_limit() -> None:
    known = tuple(prerequisite(str(number), str(number + 1)) for number in range(5000))
    assert names(Hooks(requested=("0",), resolved=known)).split() == [str(number) for number in range(4999, -1, -1)]


def test_hooks_after_the_commands_run_in_reverse_order() -> None:
    before, after = hook_scripts((prerequisite("a"), prerequisite("b")))
    assert [(step.phase, step.number, step.name) for step in before] == [("start", 0, "a"), ("start", 1, "b")]
    assert [(step.phase, step.number) for step in after] == [
        ("success", 1),
        ("success", 0),
        ("exit", 1),
        ("exit", 0),
    ]


@given(st.lists(st.sets(st.integers(0, 11)), min_size=1, max_size=12), st.lists(st.integers(0, 11), max_size=5))
def test_any_order_respects_the_requirements(graph: list[set[int]], listed: list[int]) -> None:
    """Edges lead to higher numbers only, so that there is no cycle."""
    edges = {
        number: sorted(each for each in wanted if number < each < len(graph)) for number, wanted in enumerate(graph)
    }
    known = tuple(prerequisite(str(number), *map(str, wanted)) for number, wanted in edges.items())
    order = [int(each.name) for each in ordered_hooks(Hooks(requested=tuple(map(str, listed)), resolved=known))]
    reached: set[int] = set()
    todo = [each for each in listed if each < len(graph)]
    while todo:
        number = todo.pop()
        reached.add(number)
        todo += edges[number]
    assert sorted(order) == sorted(reached)
    assert set(TopologicalSorter(edges).static_order()) >= reached
    assert all(order.index(wanted) < order.index(number) for number in order for wanted in edges[number])


PROFILE = """
containers: {runtime: RUNTIME, images: {IMAGE: /images/one}, mounts: [/scratch]}
defaultFileSystem: /fs
storages: {nfs: {path: /data/nfs}}
"""


def compiled(slurm: dict[str, Any], runtime: str = "podman", more: str = "") -> Compiled:
    profile = PROFILE.replace("RUNTIME", runtime).replace("IMAGE", JOB["prerequisites"][0]["uri"]) + more
    return compiled_for(profile, {"worker": ROLE, "other": ROLE}, {"slurm": slurm, "storages": [{"name": "nfs"}]})


def test_the_folder_of_a_role_overrides_that_of_the_job() -> None:
    found = compiled({"workdir": "submit", "taskRoles": {"other": {"workdir": "/scratch/x"}}})
    assert [role.workdir for role in found.plan.roles] == ["submit", "/scratch/x"]
    assert "PSL_WORKDIR[0]='submit' " in found.script
    assert "PSL_WORKDIR[1]='/scratch/x' " in found.script
    text = plan_text(found.plan)
    assert "workdir     the submit folder for worker\n" in text
    assert "workdir     /scratch/x for other\n" in text


@pytest.mark.parametrize("folder", [None, "task", "submit", "./x", "/scratch", "/scratch/a/b", "/fs/x", "/mnt/nfs"])
def test_folders_mounted_by_the_site_are_accepted(folder: str | None) -> None:
    found = compiled({"workdir": folder})
    assert "W424" not in [fault.code for fault in found.warnings]
    assert ("PSL_WORKDIR[0]=" in found.script) == (folder not in (None, "task"))


@pytest.mark.parametrize("folder", ["/", "/scratching", "/data/nfs", "/workspace"])
def test_a_folder_that_only_the_image_can_contain_gets_a_warning(folder: str) -> None:
    (fault,) = [fault for fault in compiled({"workdir": folder}).warnings if fault.code == "W424"]
    assert fault.path == "$.extras.slurm.workdir"
    assert fault.message == (
        f"the site does not mount {folder}: the image of role worker, other must contain this folder"
    )
    assert "W424" not in [fault.code for fault in compiled({"workdir": folder}, "none").warnings]


def test_the_warning_names_the_role_concerned() -> None:
    found = compiled({"workdir": "submit", "taskRoles": {"other": {"workdir": "/workspace"}}})
    (fault,) = [fault for fault in found.warnings if fault.code == "W424"]
    assert fault.path == "$.extras.slurm.taskRoles.other.workdir"
    assert "the image of role other " in fault.message


@pytest.mark.parametrize(("slurm", "expected"), [({}, "/site"), ({"workdir": "task"}, "task")])
def test_the_site_can_set_the_default_folder(slurm: dict[str, Any], expected: str) -> None:
    found = compiled(slurm, "podman", "workdir: /site\n")
    assert [role.workdir for role in found.plan.roles] == [expected, expected]
    assert [fault.path for fault in found.warnings if fault.code == "W424"] == ["$.taskRoles"] * (expected == "/site")
