"""What every user does, on sites in trouble: the same on each, with the same ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import ONE_ATTEMPT, role
from tests.cluster.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cluster.cluster import Cluster
    from tests.contract.site import Site

RETRIED = ONE_ATTEMPT.replace("retry: {maxTransientRetries: 0}\n", "")
SLEEPS = role("w", 1, "echo up; sleep infinity")


PROFILE = """\
partitions: {normal: {nodes: [{count: 2, cpus: 16, memoryMB: 1000000}]}}
defaultPartition: normal
time: {grace: 5, killWait: 5}
"""
TROUBLES = [
    pytest.param(KINDS["limited"], None, id="forgets after 2 s"),
    pytest.param(KINDS["renames"], None, id="job_submit renames"),
    pytest.param(KINDS["slices"], lambda cluster: cluster.stop_daemon("slurmdbd"), id="slurmdbd away"),
]


@pytest.mark.exclusive
@pytest.mark.parametrize(("kind", "trouble"), TROUBLES)
def test_jobs_are_retried_fail_and_are_cancelled(
    site: Site, folder: Path, trouble: Callable[[Cluster], None] | None
) -> None:
    cluster, strike = site.administrator, trouble or (lambda _: None)
    try:
        strike(cluster)
        again = f"[ -e {folder}/again ] || {{ touch {folder}/again; exit 1; }}"
        job = site.submit(folder, role("w", 1, again), settings=RETRIED, retries=1)
        assert (*job.over()[:2], job.status()["retries"]) == ("SUCCEEDED", 0, 1)
        strike(cluster)
        assert site.submit(folder, role("w", 2, "exit 3")).over()[:2] == ("FAILED", 255)
        waiting = site.submit(folder, SLEEPS, "{slurm: {options: [--begin=now+1hour]}}", RETRIED)
        assert waiting.status()["state"] == "WAITING"
        running = site.submit(folder, SLEEPS, settings=RETRIED)
        running.wait_for("up", "0-w/0")
        assert running.status()["state"] == "RUNNING"
        strike(cluster)
        for each in (waiting, running):
            done = each.paislurm("cancel", each.name)
            assert done.returncode == 0, done.stderr
        # Without slurmdbd the end of a job that left no result is not certain.
        cluster.start_daemon("slurmdbd")
        assert [each.over()[:2] for each in (waiting, running)] == [("STOPPED", -210)] * 2
        found = site.run("paislurm", "site", "detect", cwd=folder)
        assert (found.returncode, "  normal:\n" in found.stdout) == (0, True), found.stderr
    finally:
        cluster.start_daemon("slurmdbd")
        cluster.cancel_all()
        cluster.wait_idle()
