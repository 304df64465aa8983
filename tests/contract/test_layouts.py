"""Both layouts: where tasks are, what they see of each other, and ports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import BOTH, ONE_ATTEMPT, WHERE, role
from tests.cluster.ssh_calls import ANSWERS_BY_ADDRESS, ANSWERS_ON_THE_NODE, roles_by_address

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

PORTS = "    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0, ports: {rpc: 2}}\n"
PLAIN = "    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}\n"


@BOTH
def test_tasks_run_on_the_nodes_named_in_their_variables(site: Site, folder: Path, layout: str) -> None:
    """Three roles, one of which has several tasks on a node: the host file names that node twice."""
    see = f'{WHERE}; echo "$PAI_HOST_IP_w_1 $PAI_CONTAINER_HOST_IP $PAI_TASK_ROLE_w_HOST_LIST"; hostname'
    roles = role("w", 3, see) + role("v", 1, see) + role("u", 2, see)
    job = site.submit(folder, roles, f"{{slurm: {{layout: {layout}}}}}")
    code, result = job.ended()
    assert (code, result["outcome"]) == (0, "succeeded")
    folders = {"w": "0-w", "v": "1-v", "u": "2-u"}
    seen = {}
    for task in result["tasks"]:
        where, addresses, host = job.log(f"{folders[task['role']]}/{task['index']}").splitlines()
        node, name, _ = where.split(" ", 2)
        assert (node, name) == (task["node"], f"{task['role']}-{task['index']}")
        if site.cluster:
            assert host == node
        seen[name] = addresses.split()
    assert {addresses[0] for addresses in seen.values()} == {seen["w-1"][1]}
    assert {addresses[2] for addresses in seen.values()} == {seen["w-0"][2]}
    assert len(result["tasks"]) == 6


@BOTH
def test_ssh_by_address_reaches_the_task_that_has_the_port(site: Site, folder: Path, layout: str) -> None:
    """Two tasks of a role are on one node, as they are packed."""
    job = site.submit(folder, roles_by_address(site.own(folder / "scripts")), f"{{slurm: {{layout: {layout}}}}}")
    code, result = job.ended()
    assert (code, result["outcome"]) == (0, "succeeded"), job.log("0-w/0", "stderr.log")
    nodes = [task["node"] for task in result["tasks"]]
    assert nodes[0] == nodes[1]
    assert job.log("0-w/0").splitlines() == [*ANSWERS_BY_ADDRESS, *ANSWERS_ON_THE_NODE]
    assert job.log("1-s/0").splitlines() == ANSWERS_BY_ADDRESS


@BOTH
def test_ports_are_unique_on_each_node(site: Site, folder: Path, layout: str) -> None:
    roles = role("w", 4, 'echo "$PAI_CONTAINER_HOST_rpc_PORT_LIST"; sleep 1').replace(PLAIN, PORTS)
    job = site.submit(folder, roles, f"{{slurm: {{layout: {layout}}}}}")
    code, result = job.ended()
    assert code == 0
    ports = [
        (task["node"], port) for task in result["tasks"] for port in job.log(f"0-w/{task['index']}").strip().split(",")
    ]
    assert len(set(ports)) == len(ports) == 8
    assert all(15000 <= int(port) <= 32000 for _, port in ports)


def test_many_roles_share_an_allocation(site: Site, folder: Path) -> None:
    roles = "".join(role(f"r{number}", 1, f"echo {number}") for number in range(12))
    job = site.submit(folder, roles, "{slurm: {layout: shared}}")
    code, result = job.ended()
    assert (code, len(result["tasks"])) == (0, 12)
    assert [job.log(f"{number}-r{number}/0") for number in range(12)] == [f"{number}\n" for number in range(12)]


def test_tasks_without_gang_share_slots_and_are_retried(site: Site, folder: Path) -> None:
    command = 'echo "$FC_TASK_ATTEMPT_ID"; [ "$FC_TASK_ATTEMPT_ID" = 1 ] || [ "$PAI_TASK_INDEX" != 3 ]'
    roles = role("many", 9, command, more="    taskRetryCount: 1\n")
    job = site.submit(folder, roles, "{gangAllocation: false, slurm: {slots: 2}}")
    code, result = job.ended()
    assert (code, {task["state"] for task in result["tasks"]}) == (0, {"SUCCEEDED"})
    assert [task["task_attempt"] for task in result["tasks"]] == [0, 0, 0, 1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("layout", ["het", "shared", "unknown"])
def test_at_most_so_many_tasks_of_a_role_share_a_node(site: Site, folder: Path, layout: str) -> None:
    """One of the first role, and two of the second with GPUs, except on its last node; `unknown`: no known nodes."""
    second = role("v", 3, "true").replace("gpu: 0", "gpu: 1")
    limits = "tasksPerNode: 1, taskRoles: {v: {tasksPerNode: 2}}"
    chosen = "" if layout == "unknown" else f", layout: {layout}"
    settings = f"partitions: {{normal: {{}}}}\n{ONE_ATTEMPT}" if layout == "unknown" else ONE_ATTEMPT
    job = site.submit(folder, role("w", 2, "true") + second, f"{{slurm: {{{limits}{chosen}}}}}", settings)
    code, result = job.ended()
    assert (code, result["outcome"]) == (0, "succeeded"), result
    nodes = {name: [task["node"] for task in result["tasks"] if task["role"] == name] for name in ("w", "v")}
    assert {name: max(map(used.count, used)) for name, used in nodes.items()} == {"w": 1, "v": 2}, nodes


def test_tasks_of_a_node_of_their_own_take_turns(site: Site, folder: Path) -> None:
    """Nine tasks on the four nodes; each would fail beside another one of the node."""
    command = 'mkdir "busy-$SLURMD_NODENAME" && sleep 0.5 && rmdir "busy-$SLURMD_NODENAME"'
    slurm = "{tasksPerNode: 1, workdir: submit}"
    job = site.submit(folder, role("w", 9, command), f"{{gangAllocation: false, slurm: {slurm}}}")
    code, result = job.ended()
    assert (code, {task["state"] for task in result["tasks"]}) == (0, {"SUCCEEDED"}), result
    assert len({task["node"] for task in result["tasks"]}) == 4


@pytest.mark.exclusive
def test_a_job_fills_its_nodes(site: Site, folder: Path) -> None:
    """64 tasks in three roles on four nodes of 16 CPUs, in both layouts."""
    assert site.administrator
    full = role("a", 32, "true") + role("b", 16, "true") + role("c", 16, "true")
    for layout in ("het", "shared"):
        job = site.submit(folder, full, f"{{slurm: {{layout: {layout}}}}}")
        code, result = job.ended()
        nodes = [task["node"] for task in result["tasks"]]
        assert (code, {nodes.count(node) for node in nodes}) == (0, {16})


def test_plan_and_script_match_the_submitted_job(site: Site, folder: Path) -> None:
    job = site.submit(folder, role("w", 2, "echo out"))
    submitted = (job.attempt() / "job.sbatch").read_text()
    code, _ = job.ended()
    assert code == 0
    script = job.paislurm("script", "job.yaml")
    assert script.stdout == submitted
    plan = json.loads(job.paislurm("plan", "--json", "job.yaml").stdout)
    assert [role["name"] for role in plan["roles"]] == ["w"]
    by_hand = site.write(folder, "by-hand.sbatch", script.stdout)
    here = site.own(folder / "by-hand")
    here.chmod(0o700)
    done = site.run("sbatch", "--wait", "--parsable", f"--output={here}/slurm.log", str(by_hand), cwd=here)
    assert done.returncode == 0, (here / "slurm.log").read_text()
    (log,) = here.glob("*/attempts/0/logs/0-w/1.stdout.log")
    assert log.read_text() == "out\n"


@BOTH
@pytest.mark.parametrize(("count", "gpus"), [(4, 1), (3, 2)], ids=["even", "uneven"])
def test_tasks_on_a_node_get_separate_gpus(site: Site, folder: Path, layout: str, count: int, gpus: int) -> None:
    """Beside a role without GPUs. On a node that is not full, Slurm counts GPUs by task, else the tasks divide them."""
    see = 'echo "$SLURMD_NODENAME ${CUDA_VISIBLE_DEVICES-unset}"; sleep 1'
    roles = role("w", count, see).replace("gpu: 0", f"gpu: {gpus}") + role("v", 1, see)
    job = site.submit(folder, roles, f"{{slurm: {{layout: {layout}}}}}")
    code, result = job.ended()
    assert (code, result["outcome"]) == (0, "succeeded"), result
    assert job.log("1-v/0").split()[1:] == []
    seen: dict[str, list[str]] = {}
    for index in range(count):
        node, devices = job.log(f"0-w/{index}").split()
        assert len(devices.split(",")) == gpus
        seen.setdefault(node, []).extend(devices.split(","))
    assert max(map(len, seen.values())) == 4
    assert all(len(devices) == len(set(devices)) for devices in seen.values()), seen
