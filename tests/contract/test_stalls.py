"""The stall guard: no task moves, because one is stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.jobs import BOTH, role
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

WAITS = "echo ready; sleep 600"
STOPS = "echo ready; bash -c 'echo $$ >stopped; kill -STOP $$; echo goes on; sleep 600'"
"""The commands of a task whose program is stopped."""
IN_SECOND = f"if [ $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX = 1 ]; then {STOPS}; else {WAITS}; fi"
NAMED = "w-1 is stopped by a signal (bash, process "


@BOTH
def test_a_stall_is_reported_with_the_stopped_task(site: Site, folder: Path, layout: str) -> None:
    """And that it has ended when the task moves again."""
    settings = f"{{slurm: {{layout: {layout}, progress: {{within: 3s, warmUp: 1s}}}}}}"
    job = site.submit(folder, role("w", 3, IN_SECOND) + role("s", 1, WAITS), settings)
    wait_until(lambda: job.status().get("stall"), "the report of the stall")
    stall = job.status()["stall"]
    assert stall["tasks"] == ["w-1"]
    assert f": {NAMED}" in stall["reason"]
    assert stall["reason"].startswith("no task has moved for 3 s: ")
    assert stall["reason"].endswith("); 3 others wait")
    assert "is stopped by a signal" in (job.attempt() / "stall/0-w.1.txt").read_text()
    assert job.paislurm("exec", job.name, "w-1", "--", "sh", "-c", "kill -CONT $(cat stopped)").returncode == 0
    wait_until(lambda: not job.status()["stall"], "the end of the stall")
    assert "task w-1 moves again" in job.said()
    assert job.paislurm("cancel", job.name).returncode == 0
    assert job.over()[:2] == ("STOPPED", -210)


def test_a_stall_ends_the_attempt_if_the_job_says_so(site: Site, folder: Path) -> None:
    settings = "{slurm: {taskRoles: {w: {progress: {within: 3s, warmUp: 1s, action: end}}}}}"
    busy = "while :; do echo busy; sleep 1; done"
    job = site.submit(folder, role("w", 3, IN_SECOND) + role("s", 1, busy), settings)
    state, code, reason = job.over()
    assert (state, code) == ("FAILED", -1407)
    assert f"no task of role w has moved for 3 s: {NAMED}" in reason
