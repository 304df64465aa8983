"""Both layouts: where tasks are, what they see of each other, and ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.instance import host_name
from tests.cluster.jobs import BOTH, ONE_ATTEMPT, WHERE, role, states

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

PORTS = "    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0, ports: {rpc: 2}}\n"
PLAIN = "    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}\n"


BY_ADDRESS = """\
name='echo "$PAI_CURRENT_TASK_ROLE_NAME-$PAI_TASK_INDEX"'
ip=$PAI_HOST_IP_w_1 first=$PAI_PORT_LIST_w_0_ssh port=$PAI_PORT_LIST_w_1_ssh
ssh -p "$port" "root@$ip" "$name"
ssh -o "Port=$port" "root@$ip" "$name"
ssh "-oport=$port" "$ip" "$name"
ssh -o "Port $port" "$ip" "$name"
ssh "$ip" -p "$port" "$name"
ssh -p "$first" "$ip" "$name"
ssh "$ip" "$name"
ssh -o Port=22 "$ip" "$name"
"""
"""Calls of tasks of the role `w`, of which two are on one node, by address and port."""
ANSWERS_BY_ADDRESS = ["w-1"] * 5 + ["w-0"] * 3
ON_THE_NODE = """\
ssh -p "$port" 127.0.0.1 "$name"
ssh -o "Port=$port" localhost "$name"
ssh localhost "$name"
"""
"""The same from one of the two, w-0, to itself and to the other."""
ANSWERS_ON_THE_NODE = ["w-1", "w-1", "w-0"]


def roles_by_address(folder: Path) -> str:
    """Return a role of two tasks, the first of which calls both by address, and another role's task that does too.

    The scripts that they run are written into the folder. The job ends when all calls have been answered.
    """
    waits, other, own = "trap 'exit 0' TERM; sleep 300 & wait", folder / "other.sh", folder / "own.sh"
    other.write_text(f"{BY_ADDRESS}touch {folder}/answered\n")
    own.write_text(f"{BY_ADDRESS}{ON_THE_NODE}until [ -e {folder}/answered ]; do sleep 0.2; done\n")
    w = role("w", 2, f"if [ $PAI_TASK_INDEX = 0 ]; then source {own}; else {waits}; fi", succeeded=1)
    return w + role("s", 1, f"source {other}; {waits}")


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
            assert host == host_name(node)
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


def test_tasks_without_gang_share_slots_and_are_retried(site: Site, folder: Path) -> None:
    """A task that is stopped in its slot is told before."""
    command = 'echo "$FC_TASK_ATTEMPT_ID"; [ "$FC_TASK_ATTEMPT_ID" = 1 ] || [ "$PAI_TASK_INDEX" != 3 ]'
    server = "trap 'echo saved; exit 0' TERM; echo ready >ready; while :; do sleep 60 & wait; done"
    waits = "until [ -s ../../1-ps/0/ready ]; do sleep 0.1; done"
    roles = role("many", 9, f"{waits}; {command}", succeeded=9, more="    taskRetryCount: 1\n")
    job = site.submit(folder, roles + role("ps", 1, server), "{gangAllocation: false, slurm: {slots: 2}}")
    code, result = job.ended()
    assert (code, states(result)) == (0, [*(f"many-{index} SUCCEEDED" for index in range(9)), "ps-0 STOPPED"])
    assert [task["task_attempt"] for task in result["tasks"]] == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    job.wait_for("saved", "1-ps/0")


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
    if layout == "het":
        # Not all GPUs of a node on which fewer tasks are.
        assert f"gres/gpu={count * gpus}\n" in site.run("scontrol", "show", "job", job.number).stdout.replace(",", "\n")
    assert all(len(devices) == len(set(devices)) for devices in seen.values()), seen
