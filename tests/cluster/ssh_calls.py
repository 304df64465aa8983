"""A job whose master calls all tasks by ssh: what it runs, and what must come back with and without containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.jobs import WHERE, role

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cluster.cluster import Cluster
    from tests.cluster.jobs import Submitted

WAITS = "trap 'exit 0' TERM; sleep 300 & wait"
MOUNTS = 'grep -oE "paislurm-[0-9a-f]{8}-(login|n[0-9]+) |upperdir=/tmp/[^,]+" /proc/self/mountinfo'
"""Whose mount table it is: a node's has a file system of its name, a container's an overlay in the task's folder."""
PLACE = f"{WHERE} $({MOUNTS})"
MASTER = f"""\
where='{PLACE}'
for task in master-0 worker-0 worker-1; do ssh -o StrictHostKeyChecking=no -q root@$task "$where"; done
ssh -p "$PAI_PORT_LIST_worker_1_ssh" "$PAI_HOST_IP_worker_1" "$where"
ssh localhost "$where"
ssh worker-1 'exit 7' || echo "status $?"
printf 'in\\0to' | ssh -Tx worker-1 'cat | od -An -c; echo aside >&2; kill -9 $$' || echo "status $?"
echo lost | ssh -n worker-0 wc -c
head -c 2000000 /dev/urandom >bytes
ssh worker-1 cat <bytes | cmp - bytes && echo equal
ssh worker-0 yes | head -1 || echo "statuses ${{PIPESTATUS[*]}}"
ssh worker-7 true || echo "status $?"
ssh -L 80:here:80 worker-1 || echo "status $?"
for i in $(seq 100); do ssh -n worker-$((i % 2)) "echo $i \\$PAI_TASK_INDEX" >answer.$i & done
wait
cat answer.* | awk '{{ right += ($1 % 2 == $2) }} END {{ print right }}'"""
CALLED = ("master-0", "worker-0", "worker-1", "worker-1", "master-0")
"""The tasks whose place the master prints, in this order."""


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
    other, own = folder / "other.sh", folder / "own.sh"
    other.write_text(f"{BY_ADDRESS}touch {folder}/answered\n")
    own.write_text(f"{BY_ADDRESS}{ON_THE_NODE}until [ -e {folder}/answered ]; do sleep 0.2; done\n")
    w = role("w", 2, f"if [ $PAI_TASK_INDEX = 0 ]; then source {own}; else {WAITS}; fi", succeeded=1)
    return w + role("s", 1, f"source {other}; {WAITS}")


def roles_of_calls(script: Path, worker: str = WAITS) -> str:
    """Return a master that sources its script, and two workers; they have memory for a hundred calls at once."""
    roles = role("master", 1, f"source {script}", succeeded=1) + role("worker", 2, worker)
    return roles.replace("memoryMB: 100", "memoryMB: 3000")


def mount_of_node(cluster: Cluster, node: str) -> str:
    """Return what `MOUNTS` finds on a node."""
    return f"paislurm-{cluster.instance.tag}-{node}"


def came_back(job: Submitted, mount: Callable[[str, str], str]) -> tuple[list[str], list[str]]:
    """Wait for the end; return what the master printed after the places of those it called, and its errors.

    `mount` says what `MOUNTS` must find in a task, by the task's name and its node.
    """
    code, result = job.ended()
    out, err = job.log("0-master/0").splitlines(), job.log("0-master/0", "stderr.log").splitlines()
    assert (code, result["outcome"]) == (0, "succeeded"), (out, err)
    places = job.places(result["tasks"])
    nodes = {f"{task['role']}-{task['index']}": task["node"] for task in result["tasks"]}
    assert out[: len(CALLED)] == [f"{places[task]} {mount(task, nodes[task])}" for task in CALLED]
    return out[len(CALLED) :], err
