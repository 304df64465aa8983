"""A job that Slurm restarts after the loss of a node, before all jobs that wait.

Before Slurm 25.11 it is retried as any other job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import role
from tests.contract.test_cost import cost_of
from tests.contract.test_spare_nodes import RETRIED, await_start, begun, ledger, overlaps, ticking
from tests.left_out import not_asked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Job, Site

EXTRAS = "{slurm: {requeue: expedite, tasksPerNode: 1}}"
WAITING = 50


def submit(site: Site, folder: Path) -> Job:
    settings = RETRIED + f"slurmVersion: {site.slurm}\nscheduler: {{expeditedRequeue: true}}\n"
    return site.submit(folder, role("w", 2, ticking(folder)), EXTRAS, settings, partition="spared")


def fill_queue(site: Site) -> list[str]:
    """Submit jobs that need more nodes than the partition has beside the job; return their ids."""
    argv = ("sbatch", "--parsable", "--partition=spared", "--nodes=2", "--exclusive", "--output=/dev/null")
    command = f"for i in {{1..{WAITING}}}; do {' '.join(argv)} --wrap='sleep 600' || exit; done"
    return site.run("bash", "-c", command).stdout.split()


@pytest.mark.disruptive
@pytest.mark.parametrize("lost_task", ["w-0", "w-1"], ids=["batch-node", "other-node"])
def test_slurm_restarts_the_job_before_all_that_wait(site: Site, folder: Path, lost_task: str) -> None:
    if site.slurm < "25.11":
        not_asked("Slurm has no expedited requeue before 25.11")
    cluster = site.administrator
    job = submit(site, folder)
    lost, number = await_start(folder, 2, 0)[lost_task], job.number
    waiting = fill_queue(site)
    try:
        assert len(waiting) == WAITING
        cluster.stop_daemon(f"slurmd-{lost}", crash=True)
        second = await_start(folder, 2, 1)
        (folder / "stop").touch()
        code, result = job.ended(loud=True)
        started = site.run("squeue", "--noheader", "--states=R", "--format=%i", f"--jobs={','.join(waiting)}").stdout
    finally:
        site.run("scancel", *waiting)
        cluster.restore(lost)
    assert (code, result["outcome"], result["job_id"]) == (0, "succeeded", number)
    assert lost not in second.values()
    assert [each["lost_node"] for each in result["restarts"]] == [lost]
    assert result["restarts"][0]["spare_node"] in second.values()
    assert overlaps(folder) == []
    assert begun(folder, 0, 1) == {}
    shown = job.status()
    assert (shown["state"], shown["attempts"], shown["job_id"]) == ("SUCCEEDED", [], number)
    assert f"after the loss of {lost}" in shown["reason"]
    assert {row[1] for row in ledger(folder) if row[0] == "done"} == {"w-0", "w-1"}
    assert len(started.split()) <= 1, "jobs that waited run only after the end of this one"
    cost, seconds = cost_of(job)
    assert {part["lost_to"] for part in cost["parts"]} == {None, "its node was lost"}
    assert seconds["lost"] > 0


def test_other_sites_retry_as_usual(site: Site, folder: Path) -> None:
    job = site.submit(folder, role("w", 2, "true"), EXTRAS)
    assert "#SBATCH --no-requeue\n" in job.script()
    assert "W416" in job.paislurm("check", "job.yaml").stderr
    assert job.ended()[0] == 0
