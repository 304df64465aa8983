"""The stall guard: no task moves, because one is stopped."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import BOTH, ONE_ATTEMPT, ROOT, role
from tests.cluster.processes import wait_until
from tests.contract.test_calls import compiled, containers
from tests.contract.test_ranks import skip_without

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Job, Site

WAITS = "echo ready; sleep 600"
STOPS = "echo ready; bash -c 'echo $$ >stopped; kill -STOP $$; while :; do echo goes on; sleep 1; done'"
"""The commands of a task whose program is stopped."""
IN_SECOND = f"if [ $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX = 1 ]; then {STOPS}; else {WAITS}; fi"
SOON = "progress: {within: 3s, warmUp: 1s}"


def is_named(job: Job, others: str) -> None:
    """Wait for the report of a stall, which names the second task of role w."""
    wait_until(lambda: job.status().get("stall"), "the report of the stall")
    stall = job.status()["stall"]
    assert stall["stalled_tasks"] == ["w-1"], stall
    assert stall["reason"].startswith("no task has moved for 3 s: w-1 is stopped by a signal (bash, process ")
    assert stall["reason"].endswith(f"); {others}")
    assert "is stopped by a signal" in (job.attempt() / "stall/0-w.1.txt").read_text()


@BOTH
def test_a_stall_is_reported_with_the_stopped_task(site: Site, folder: Path, layout: str) -> None:
    """And that it has ended when the task moves again."""
    settings = f"{{slurm: {{layout: {layout}, {SOON}}}}}"
    job = site.submit(folder, role("w", 3, IN_SECOND) + role("s", 1, WAITS), settings)
    is_named(job, "3 others wait")
    assert job.paislurm("exec", job.name, "w-1", "--", "sh", "-c", "kill -CONT $(cat stopped)").returncode == 0
    wait_until(lambda: not job.status()["stall"], "the end of the stall")
    assert "task w-1 moves again" in job.said()
    assert job.paislurm("cancel", job.name).returncode == 0
    assert job.over()[:2] == ("STOPPED", -210)
    (stall,) = json.loads((job.attempt() / "result.json").read_text())["stalls"]
    assert stall["to"] - stall["from"] >= 3


@pytest.mark.parametrize("gang", [True, False], ids=["gang", "slots"])
def test_a_stall_in_containers(site: Site, folder: Path, gang: bool) -> None:
    settings = f"{{gangAllocation: {str(gang).lower()}, slurm: {{{SOON}}}}}"
    job = site.submit(folder, role("w", 2, IN_SECOND), settings, containers(site))
    is_named(job, "1 other waits")
    assert job.paislurm("cancel", job.name).returncode == 0


@pytest.mark.parametrize("contained", [False, True], ids=["node", "charliecloud"])
def test_a_stall_of_a_rank(site: Site, folder: Path, contained: bool) -> None:
    """It is another one than the first of its task, and the first of the task logs on for a while."""
    first = "for n in 1 2 3; do echo $n; sleep 1; done"
    commands = f"case $SLURM_PROCID in 3) {STOPS} ;; 0) {first}; {WAITS} ;; *) {WAITS} ;; esac"
    roles = role("w", 2, commands).replace("cpu: 1,", "cpu: 2,")
    settings = f"{{slurm: {{mpi: {{plugin: pmi2, ranksPerInstance: 2}}, {SOON}}}}}"
    more = containers(site) if contained else ONE_ATTEMPT
    job = site.submit(folder, roles, settings, f"{more}mpi: [pmix, pmi2]\n")
    is_named(job, "1 other waits")
    assert job.paislurm("cancel", job.name).returncode == 0


def test_a_wrong_collective_of_mpi(site: Site, folder: Path) -> None:
    """All ranks compute. eu-stack tells in what, unless its node is too busy.

    MPI_Init may be quiet, too.
    """
    if site.cluster:
        skip_without(site, "pmix")
    program = compiled(site, ROOT / "tests/stalls/ranks.c")
    roles = role("w", 3, f"{program} 1 2 barrier stalled.at").replace("memoryMB: 100", "memoryMB: 1000")
    settings = f"{ONE_ATTEMPT}mpi: [pmix, pmi2]\n"
    job = site.submit(folder, roles, f"{{slurm: {{mpi: {{plugin: pmix}}, {SOON}}}}}", settings)
    job.wait_for("step 1", "0-w/0")
    reason = r".*: nothing tells which of the 3 .*; each has processes in code that computes or waits in libmpi\S+"
    if site.run("sh", "-c", "command -v eu-stack").returncode == 0:
        reason += r"|.*: w-1 is in MPI_Barrier@libmpi\S+, and the others in MPI_Allreduce@libmpi\S+; 2 others wait"
    wait_until(lambda: re.fullmatch(reason, (job.status()["stall"] or {}).get("reason", "")), "the stall in MPI")
    assert job.paislurm("cancel", job.name).returncode == 0
