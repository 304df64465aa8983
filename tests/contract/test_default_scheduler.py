"""A site with Slurm's default scheduler parameters: a heterogeneous job waits for the next look of backfill."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from paislurm.translator.site.load import load_site
from paislurm.translator.site.profile import Scheduler
from tests.cluster.jobs import role
from tests.cluster.kinds import KINDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

KIND = KINDS["backfill"]
PROFILE = """\
scheduler: {backfillInterval: 30}
partitions: {normal: {nodes: [{count: 2, cpus: 16, memoryMB: 1000000}]}}
defaultPartition: normal
time: {grace: 5, killWait: 5}
"""
TWO = role("a", 1, "true") + role("b", 1, "true")
HET = "{slurm: {layout: het}}"


def test_waiting_heterogeneous_job_shows_the_backfill_interval(site: Site, folder: Path) -> None:
    """The first one has been started by a look of backfill, so that the second one waits for the next."""
    done = site.run("paislurm", "site", "detect", "--output", "site.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = load_site((folder / "site.yaml").read_bytes(), file="site.yaml")
    assert found.scheduler == Scheduler.of(backfill_interval=30, expedited_requeue=site.slurm >= "25.11")
    assert site.submit(folder, TWO, HET).ended()[0] == 0
    # A look comes each 30 s, maybe just now: then the next job waits for the one after it.
    for _ in range(3):
        job = site.submit(folder, TWO, HET)
        shown = job.status()
        if shown["state"] == "WAITING":
            break
    assert shown["state"] == "WAITING", shown
    (wait,) = shown["waits"]
    assert (wait["backend_reason"], wait["kind"]) == ("None", "turn")
    assert "backfill scheduler" in shown["reason"]
    assert shown["reason"].endswith("every 30 s (`bf_interval`)")
    (line,) = json.loads(job.paislurm("list", "--json").stdout)["jobs"]
    assert line["reason"] == shown["reason"]
    assert job.paislurm("cancel", job.name).returncode == 0
    assert job.over()[:2] == ("STOPPED", -210)
