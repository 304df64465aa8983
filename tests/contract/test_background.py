"""Processes that commands leave in the background: they keep the task, and an end from outside undoes no success."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import BOTH, role
from tests.cluster.processes import wait_until
from tests.contract.site import LONGEST

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Job, Site

SERVES = "setsid sleep 600 >/dev/null 2>&1 &"


def settled(job: Job, count: int) -> None:
    """Wait until the commands of so many tasks have succeeded, and these tasks run on."""

    def states() -> list[str]:
        return [task["state"] for task in job.status()["tasks"] if task["background_began_at"]]

    wait_until(lambda: states() == ["RUNNING"] * count, "the commands to end", LONGEST)


@BOTH
def test_a_task_succeeds_when_its_background_process_ends(site: Site, folder: Path, layout: str) -> None:
    """Until then it does not count for the completion policy."""
    roles = role("a", 1, SERVES, succeeded=1) + role("b", 1, "sleep 600")
    job = site.submit(folder, roles, f"{{slurm: {{layout: {layout}}}}}")
    settled(job, 1)
    assert job.status()["state"] == "RUNNING"
    (stop,) = [line for line in job.paislurm("status", job.name).stdout.splitlines() if "stop them: " in line]
    done = job.paislurm(*shlex.split(stop.partition(": paislurm ")[2]))
    assert done.returncode == 0, done.stderr
    code, result = job.ended()
    assert (code, result["trigger"]["role"]) == (0, "a")
    assert [task["state"] for task in result["tasks"]] == ["SUCCEEDED", "STOPPED"]


@pytest.mark.parametrize("end", ["scancel", "limit"])
@BOTH
def test_an_end_from_outside_does_not_undo_a_success(site: Site, folder: Path, layout: str, end: str) -> None:
    job = site.submit(folder, role("w", 2, SERVES), f"{{slurm: {{time: 10, layout: {layout}}}}}")
    settled(job, 2)
    if end == "scancel":
        assert site.run("scancel", job.number).returncode == 0
    else:
        site.run("scontrol", "update", f"jobid={job.number}", "timelimit=2")
    assert job.over()[:2] == ("SUCCEEDED", 0)
    shown = json.loads(job.paislurm("status", "--json", job.name).stdout)
    assert [task["state"] for task in shown["tasks"]] == ["SUCCEEDED", "SUCCEEDED"]


@BOTH
def test_a_failure_of_another_task_decides_and_stops_background_processes(
    site: Site, folder: Path, layout: str
) -> None:
    gate = folder / "gate"
    fails = f"while [ ! -e {gate} ]; do sleep 0.2; done; exit 3"
    job = site.submit(folder, role("a", 1, SERVES) + role("b", 1, fails), f"{{slurm: {{layout: {layout}}}}}")
    settled(job, 1)
    gate.touch()
    code, result = job.ended()
    assert (code, result["trigger"]["role"]) == (1, "b")
    assert [task["state"] for task in result["tasks"]] == ["SUCCEEDED", "FAILED"]
