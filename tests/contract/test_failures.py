"""What is said of a job that failed, unasked: the task that decided, its last lines, and where its command stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import role
from tests.contract.test_calls import BARRIER, mpirun_over

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

WAITS = "trap 'exit 7' TERM; echo ready; while :; do sleep 600 & wait; done"
FAILS = "until ls ../../0-a/*/ready 2>/dev/null; do sleep 1; done; echo almost >&2; nosuchprogram --fast"


def test_the_task_that_decided_is_shown(site: Site, folder: Path) -> None:
    job = site.submit(folder, role("a", 1, f"touch ready; {WAITS}") + role("b", 2, FAILS))
    done = job.paislurm("wait", "--", job.name)
    assert done.returncode == 1
    shown = job.status()
    failure, tasks = shown["failure"], {f"{task['role']}-{task['index']}": task for task in shown["tasks"]}
    decided = tasks[failure["task"]]
    assert decided["role"] == "b"
    assert (failure["exit_code"], failure["exit_status"], failure["node"]) == (220, 127, decided["node"])
    assert failure["stream"] == "stderr"
    assert failure["last_lines"][-2] == "almost"
    assert "nosuchprogram: command not found" in failure["last_lines"][-1]
    assert "nosuchprogram" in job.file.read_text().splitlines()[failure["line"] - 1]
    assert f"failed by {failure['task']} on {failure['node']} at " in done.stderr
    assert f"job.yaml:{failure['line']}" in done.stderr
    assert "  | almost\n" in done.stderr
    assert "a command was not found" in job.paislurm("status", "--", job.name).stdout
    assert (tasks["a-0"]["state"], tasks["a-0"]["exit_code"]) == ("STOPPED", -220)


FAILING = {
    "plain": "printf 'echo in\\nfalse\\n' >train.sh; bash ./train.sh",
    "function": "go() { bash -c 'exit 3'; }",
    "mpirun": "MPIRUN -np 2 bash -c 'sleep $OMPI_COMM_WORLD_RANK; exit $((3 * OMPI_COMM_WORLD_RANK))'",
    "ssh": "ssh worker-0 'echo there; exit 3'",
}
"""The line that fails, in commands that print to both streams before, and would do more after it."""


@pytest.mark.parametrize("how", FAILING)
def test_the_line_that_failed_is_named(site: Site, folder: Path, how: str) -> None:
    mpirun, cpus = mpirun_over(site, "master-0:1,worker-0:1")
    failing = FAILING[how].replace("MPIRUN", mpirun)
    lines = ["echo prepare", "nosuchprogram || true", failing, "go", "echo never"]
    if how != "function":
        lines.remove("go")
    master = role("master", 1, "\n        ".join(lines))
    roles = (master + role("worker", 1, "sleep infinity")).replace("memoryMB: 100", "memoryMB: 2000")
    job = site.submit(folder, roles.replace("cpu: 1,", f"cpu: {cpus},"), BARRIER.replace("LAYOUT", "shared"))
    done = job.paislurm("wait", "--", job.name)
    assert done.returncode == 1
    failure = job.status()["failure"]
    text = job.file.read_text().splitlines()
    assert (failure["task"], failure["line"]) == ("master-0", failure["last_line"])
    assert text[failure["line"] - 1].strip() == failing
    assert f"job.yaml:{failure['line']}" in done.stderr
