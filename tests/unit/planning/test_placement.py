"""The placement of a job: each task once, and no node over its size.

`.venv/bin/python -m tests.unit.planning.test_placement` remakes the expected texts; read the difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from paislurm.translator.errors import PlanError
from paislurm.translator.planning.placement.place import JobPlacement
from paislurm.translator.planning.placement.text import WIDTH, equal_nodes, placement_text
from tests.compare import difference

from .compiled import compiled_for, role

EXPECTED = Path(__file__).with_name("placements.txt")
DGX = "{count: 4, cpus: 256, memoryMB: 1000000, gpus: 8, threadsPerCore: 2}"
FOUR = "{count: 4, cpus: 128, memoryMB: 1000000, gpus: 8, threadsPerCore: 2}"
CPUS = "{count: 9, cpus: 16, memoryMB: 1000000}"
PLAIN = "{count: 4, cpus: 16, memoryMB: 1000000, gpus: 4}"


DOCUMENTED = "a parameter server beside workers that fill nodes"
CASES: dict[str, tuple[dict[str, Any], str, dict[str, Any], str]] = {
    DOCUMENTED: ({"ps": role(2, 0, 4), "worker": role(8, 2, 8)}, DGX, {"layout": "shared"}, ""),
    "a role that fills two nodes": ({"worker": role(16, 1, 16)}, FOUR, {}, ""),
    "a task for each node, and idle CPUs": ({"worker": role(3, 8, 224)}, DGX, {}, "wholeNodes: true\n"),
    "two roles in het": ({"ps": role(1, 0, 4), "worker": role(8, 1, 32)}, DGX, {"layout": "het"}, ""),
    "many tasks": ({"w": role(130, 0, 1)}, CPUS, {}, ""),
    "a node with fewer tasks": ({"worker": role(3, 2, 4)}, PLAIN, {}, ""),
    "two kinds of nodes": ({"worker": role(2, 1, 4)}, f"{PLAIN}, {FOUR}", {}, ""),
    "unknown nodes": ({"worker": role(3, 1, 4), "ps": role(1, 0)}, "", {}, ""),
}


def placed(roles: dict[str, Any], shapes: str, slurm: dict[str, Any], more: str = "") -> JobPlacement:
    profile = f"partitions: {{gpu: {{nodes: [{shapes}]}}}}\ndefaultPartition: gpu\n{more}"
    return compiled_for(profile, roles, {"slurm": slurm}).placement


def expected() -> str:
    return "\n".join(f"# {name}\n{placement_text(placed(*case))}" for name, case in CASES.items())


def test_texts_are_as_they_were_read() -> None:
    if changes := difference(EXPECTED, expected().encode()):
        pytest.fail(changes, pytrace=False)


def test_the_page_has_the_text_of_a_case() -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/jobs/binding.md").read_text(encoding="utf-8")
    assert f"```text\n{placement_text(placed(*CASES[DOCUMENTED]))}```\n" in page


ROLES = st.lists(
    st.builds(role, st.integers(1, 20), st.sampled_from([0, 0, 1, 2, 4]), st.sampled_from([1, 2, 4, 8, 16])),
    min_size=1,
    max_size=3,
)
SLURM = st.fixed_dictionaries({}, optional={"layout": st.sampled_from(["het", "shared"])})


@given(ROLES, st.sampled_from([DGX, FOUR, CPUS, PLAIN, f"{DGX}, {CPUS}"]), SLURM)
def test_each_task_is_on_one_node_that_has_room_for_it(
    roles: list[dict[str, Any]], shapes: str, slurm: dict[str, Any]
) -> None:
    try:
        found = placed({f"r{number}": each for number, each in enumerate(roles)}, shapes, slurm)
    except PlanError:
        assume(False)
    tasks = [task.name for node in found.nodes for task in node.tasks]
    every = [f"r{number}-{index}" for number, each in enumerate(roles) for index in range(each["instances"])]
    left_to_slurm = {note.split(": ")[0].split()[-1] for note in found.notes if "the nodes of" in note}
    assert sorted(tasks) == sorted(name for name in every if name.split("-")[0] not in left_to_slurm)
    assert [node.number for node in found.nodes] == list(range(1, len(found.nodes) + 1))
    for node in found.nodes:
        assert node.tasks
        assert node.cpus is None or sum(task.cpus for task in node.tasks) <= node.cpus
        assert node.gpus is None or sum(task.gpus for task in node.tasks) <= node.gpus
    assert sorted(node.number for like in equal_nodes(found.nodes) for node in like) == [n.number for n in found.nodes]
    assert max(map(len, placement_text(found).splitlines())) <= WIDTH


if __name__ == "__main__":
    EXPECTED.write_text(expected(), encoding="utf-8")
