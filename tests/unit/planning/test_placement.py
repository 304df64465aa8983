"""The placement of a job: each task once, no node over its size, and the GPUs that tasks take on real machines.

`.venv/bin/python -m tests.unit.planning.test_placement` remakes the expected texts; read the difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from paislurm.translator.errors import PlanError
from paislurm.translator.pipeline import compile_job
from paislurm.translator.planning.placement.model import JobPlacement, PlacedNode
from paislurm.translator.planning.placement.text import WIDTH, equal_nodes, placement_text
from paislurm.translator.site.load import load_site
from tests.compare import difference

from ..protocol.jobs import JOB, changed
from ..runtime.machines import MACHINES, Machine
from ..runtime.test_nearest_gpus import lists, mask, taken
from .test_gpus import role

EXPECTED = Path(__file__).with_name("placements.txt")
DGX = (
    "{count: 4, cpus: 256, memoryMB: 1000000, gpus: 8, threadsPerCore: 2, sockets: 2, domains: ["
    "{cpus: '0-15,128-143', adapters: [mlx5_0]}, {cpus: '16-31,144-159', gpus: 2-3, adapters: [mlx5_1]},"
    "{cpus: '32-47,160-175'}, {cpus: '48-63,176-191', gpus: 0-1, adapters: [mlx5_2, mlx5_3]},"
    "{cpus: '64-79,192-207'}, {cpus: '80-95,208-223', gpus: 6-7, adapters: [mlx5_4]},"
    "{cpus: '96-111,224-239'}, {cpus: '112-127,240-255', gpus: 4-5}]}"
)
FOUR = (
    "{count: 4, cpus: 128, memoryMB: 1000000, gpus: 8, threadsPerCore: 2, sockets: 2, domains: ["
    "{cpus: '0-15,64-79', gpus: 2-3, adapters: [mlx5_0, mlx5_1]}, {cpus: '16-31,80-95', gpus: 0-1},"
    "{cpus: '32-47,96-111', gpus: 6-7, adapters: [mlx5_2, mlx5_3]}, {cpus: '48-63,112-127', gpus: 4-5}]}"
)
ONE_SIDE = (
    "{count: 2, cpus: 16, memoryMB: 1000000, gpus: 4, sockets: 2,"
    " domains: [{cpus: 0-7, gpus: 0-3}, {cpus: 8-15, adapters: [mlx5_0]}]}"
)
CPUS = (
    "{count: 9, cpus: 16, memoryMB: 1000000, sockets: 2,"
    " domains: [{cpus: '0,2,4,6,8,10,12,14'}, {cpus: '1,3,5,7,9,11,13,15'}]}"
)
PLAIN = "{count: 4, cpus: 16, memoryMB: 1000000, gpus: 4}"


def fast(instances: int, gpus: int, cpus: int) -> dict[str, Any]:
    """Return a role on InfiniBand."""
    return changed(role(instances, gpus, cpus), "extraContainerOptions/infiniband", True)


def ranks(plugin: str, each: int) -> dict[str, Any]:
    return {"mpi": {"plugin": plugin, "ranksPerInstance": each}}


DOCUMENTED = "a role on InfiniBand that fills two nodes"
CASES: dict[str, tuple[dict[str, Any], str, dict[str, Any], str]] = {
    DOCUMENTED: ({"worker": fast(16, 1, 16)}, FOUR, {}, ""),
    "a role that fills two nodes": ({"worker": role(16, 1, 32)}, DGX, {}, ""),
    "a task for each node, and idle CPUs": ({"worker": role(3, 8, 224)}, DGX, {}, "wholeNodes: true\n"),
    "GPUs that Slurm divides": ({"w": role(8, 1, 16)}, FOUR, {"binding": {"gpu": "closest"}}, ""),
    "two roles in het": ({"ps": role(1, 0, 4), "worker": role(8, 1, 32)}, DGX, {"layout": "het"}, ""),
    "two roles shared": ({"ps": role(2, 0, 4), "worker": role(8, 2, 8)}, DGX, {"layout": "shared"}, ""),
    "GPUs on one side, adapters on the other": ({"worker": fast(4, 1, 4)}, ONE_SIDE, {}, ""),
    "GPUs in the order of Slurm's list": ({"w": role(4, 1, 4)}, ONE_SIDE, {"binding": "none"}, ""),
    "nodes without GPUs": ({"w": role(130, 0, 1)}, CPUS, {}, ""),
    "nodes without GPUs, filled": ({"w": role(144, 0, 1)}, CPUS, {}, ""),
    "several ranks for each task": ({"w": role(4, 0, 8)}, CPUS, ranks("pmix", 4), ""),
    "unknown domains, and a node with fewer tasks": ({"worker": role(3, 2, 4)}, PLAIN, {}, ""),
    "two kinds of nodes": ({"worker": role(2, 1, 4)}, f"{PLAIN}, {ONE_SIDE}", {}, ""),
    "unknown nodes": ({"worker": role(3, 1, 4), "ps": role(1, 0)}, "", {}, ""),
}


def placed(roles: dict[str, Any], shapes: str, slurm: dict[str, Any], more: str = "") -> JobPlacement:
    profile = f"partitions: {{gpu: {{nodes: [{shapes}]}}}}\ndefaultPartition: gpu\n{more}"
    job = changed(changed(JOB, "taskRoles", roles), "extras/slurm", slurm)
    return compile_job(yaml.safe_dump(job, sort_keys=False), site=load_site(profile, file="site.yaml")).placement


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
SLURM = st.fixed_dictionaries(
    {},
    optional={
        "layout": st.sampled_from(["het", "shared"]),
        "binding": st.sampled_from(["none", {"cpu": "cores"}, {"gpu": "closest"}, {"tasksPerSocket": 2}]),
    },
)


@given(ROLES, st.sampled_from([DGX, ONE_SIDE, CPUS, PLAIN, f"{DGX}, {CPUS}"]), SLURM)
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
        check(node)
    assert sorted(node.number for like in equal_nodes(found.nodes) for node in like) == [n.number for n in found.nodes]
    assert max(map(len, placement_text(found).splitlines())) <= WIDTH


def check(node: PlacedNode) -> None:
    """Compare a node with its size, and its GPUs with those of its tasks."""
    assert node.tasks
    gpus = [gpu for task in node.tasks for gpu in task.gpu_numbers or ()]
    assert len(gpus) == len(set(gpus))
    assert all(len(task.gpu_numbers) == task.gpus for task in node.tasks if task.gpu_numbers is not None)
    if node.cpus is not None and node.gpus is not None:
        assert sum(task.cpus for task in node.tasks) <= node.cpus
        assert sum(task.gpus for task in node.tasks) <= node.gpus
        assert set(gpus) <= set(range(node.gpus))
    domains = {each.number for each in node.domains}
    assert all(set(task.cpu_domains) <= domains for task in node.tasks)


def shape(machine: Machine, sockets: int) -> str:
    """Return a machine as nodes of a site profile."""
    domains = []
    for domain in range(machine.domains):
        gpus = ",".join(str(gpu) for gpu, each in enumerate(machine.gpus) if each == domain)
        cpus = f"{domain * machine.cores}-{(domain + 1) * machine.cores - 1}"
        domains.append({"cpus": cpus, "gpus": gpus} if gpus else {"cpus": cpus})
    size = {"count": 1, "cpus": machine.cpus, "memoryMB": 9999, "gpus": len(machine.gpus)}
    return str({**size, "sockets": sockets, "domains": domains})


@pytest.mark.parametrize("sockets", [1, 2])
@pytest.mark.parametrize("name", [name for name, machine in MACHINES.items() if machine.gpus])
def test_gpus_are_those_that_the_tasks_take_on_the_node(tmp_path: Path, name: str, sockets: int) -> None:
    """The masks are those that Slurm gave to tasks of a host file: the sockets take turns."""
    machine = MACHINES[name]
    count = len(machine.gpus)
    share = machine.cpus // count
    (node,) = placed({"w": role(count, 1, share)}, shape(machine, sockets), {}).nodes
    firsts = [(task % sockets * (count // sockets) + task // sockets) * share for task in range(count)]
    assert [task.cpu_domains[0] for task in node.tasks] == [first // machine.cores for first in firsts]
    shown = ",".join(str(gpu) for task in node.tasks for gpu in task.gpu_numbers or ())
    assert shown == lists(taken(tmp_path, machine, [mask(first, share) for first in firsts]))


if __name__ == "__main__":
    EXPECTED.write_text(expected(), encoding="utf-8")
