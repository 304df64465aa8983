"""From sbatch to the first task of a job of two roles, on idle nodes with Slurm's default scheduler parameters.

The jobs of a layout come at random moments of the backfill scheduler's interval of 30 s; each Slurm runs its own turns.
"""

from __future__ import annotations

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import repeat
from statistics import median
from typing import TYPE_CHECKING

from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.load import load_site
from tests.cluster.jobs import folder_of_alice
from tests.cluster.kinds import KINDS, OWN
from tests.cluster.running import running

from .measure import Ratio

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.cluster import Cluster

CLUSTERS = ((OWN, KINDS["backfill"]), ("newest", KINDS["backfill"]))
TURNS = 12
INTERVAL = 30
"""Seconds between the rounds of the backfill scheduler. Source: slurm.conf(5), bf_interval."""
LIMITS = {"het": 1.5, "shared": 0.5}
"""The longest start, in intervals: only the backfill scheduler starts a job of several components."""
SITE = """\
scheduler: {backfillInterval: 30}
partitions: {normal: {nodes: [{count: 2, cpus: 16, memoryMB: 1000000}]}}
defaultPartition: normal
"""
JOB = """protocolVersion: 2
name: idle
type: job
prerequisites: [{name: plain, type: dockerimage, uri: debian}]
taskRoles:
  a: &role
    instances: 1
    dockerImage: plain
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands: ['date +%s.%N >"$STAMPS/$PAI_CURRENT_TASK_ROLE_NAME"']
  b: *role
extras: {slurm: {layout: LAYOUT}}
"""


def run() -> Iterator[Ratio]:
    """Boot the clusters and yield the ratios."""
    with ExitStack() as stack:
        clusters = [stack.enter_context(running(slurm, kind)) for slurm, kind in CLUSTERS]
        with ThreadPoolExecutor() as pool:
            for layout, limit in LIMITS.items():
                for cluster, times in zip(clusters, pool.map(_times, clusters, repeat(layout)), strict=False):
                    what = f"longest start of two idle roles of {TURNS}, {layout}, {cluster.slurm}"
                    yield Ratio(f"{what}, median {median(times):.2f} s : {INTERVAL} s", max(times), INTERVAL, limit)


def _times(cluster: Cluster, layout: str) -> list[float]:
    """Return the seconds from sbatch to the first task of each job."""
    folder = folder_of_alice(cluster.home("alice") / f"bench-{os.getpid()}-{layout}")
    script = folder / "job.sbatch"
    script.write_text(compile_job(JOB.replace("LAYOUT", layout), site=load_site(SITE, file="site.yaml")).script)
    moments = random.Random(layout)
    return [
        _start(cluster, script, folder_of_alice(folder / str(turn)), moments.uniform(0, INTERVAL))
        for turn in range(TURNS)
    ]


def _start(cluster: Cluster, script: Path, stamps: Path, moment: float) -> float:
    time.sleep(moment)
    submitted = time.time()
    done = cluster.run(["sbatch", "--wait", str(script)], cwd=stamps, env={"STAMPS": str(stamps)}, timeout=300)
    assert done.returncode == 0, done.stderr
    return min(float((stamps / role).read_text()) for role in "ab") - submitted
