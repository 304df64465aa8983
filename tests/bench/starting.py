"""From the start of the batch script to the commands of all tasks, against bare sruns of the same tasks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.load import load_site
from tests.cluster.cluster import Cluster
from tests.cluster.image import make_image
from tests.cluster.jobs import ROOT, folder_of_alice

from .measure import TURNS, Ratio, typical

if TYPE_CHECKING:
    from collections.abc import Iterator

JOBS = ((1, 64, 5.0), (20, 1, 2.5))
"""Roles, tasks of each, and the limit, for tasks on the nodes themselves."""
CONTAINED = (1, 64, 8.0)
IN_A_CONTAINER = "date +%s.%N >stamp"
"""There a task has none of Slurm's variables, and its folder."""
BEGAN = '(($#)) || date +%s.%N >"$STAMPS/$SLURM_JOB_ID.began"\n'
"""The first thing that any script does is to look at the clock."""
STAMP = 'date +%s.%N >"$STAMPS/$SLURM_JOB_ID.$SLURM_STEP_ID.$SLURM_PROCID"'
JOB = """protocolVersion: 2
name: NAME
type: job
prerequisites: [{name: plain, type: dockerimage, uri: IMAGE}]
taskRoles:
ROLESextras: {slurm: {layout: shared}}
"""
ROLE = """  r%d:
    instances: %d
    dockerImage: plain
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands: ['%s']
"""
MPI_JOB = """protocolVersion: 2
name: mpirun
type: job
prerequisites: [{name: openmpi, type: dockerimage, uri: IMAGE}]
taskRoles:
  master:
    instances: 1
    completion: {minSucceededInstances: 1}
    dockerImage: openmpi
    resourcePerInstance: {cpu: 4, memoryMB: 4000, gpu: 0}
    commands:
      - >-
        mpirun -np 8 -H master-0:4,worker-0:4 -bind-to none -map-by slot -mca pml ob1 -mca btl ^openib
        bash -c 'date +%s.%N >stamp.$OMPI_COMM_WORLD_RANK; exec PROGRAM'
  worker:
    instances: 1
    completion: {minSucceededInstances: -1}
    dockerImage: openmpi
    resourcePerInstance: {cpu: 4, memoryMB: 4000, gpu: 0}
    commands: [sleep infinity]
extras:
  com.microsoft.pai.runtimeplugin: [{plugin: ssh, parameters: {jobssh: true, sshbarrier: true}}]
"""


def run() -> Iterator[Ratio]:
    """Boot the cluster and yield the ratios."""
    cluster = Cluster()
    booted = cluster.up()
    try:
        for row in JOBS:
            yield _ratio(cluster, *row)
        yield _ratio(cluster, *CONTAINED, image=make_image(cluster.instance))
        yield _all_reduce(cluster, make_image(cluster.instance))
    finally:
        if booted:
            cluster.down()


def _ratio(cluster: Cluster, roles: int, tasks: int, limit: float, image: Path | None = None) -> Ratio:
    """Return the ratio for a job whose tasks run on the nodes themselves, or in containers of an image."""
    folder = folder_of_alice(cluster.home("alice") / f"bench-{os.getpid()}-{roles}-{'image' if image else 'bare'}")
    containers = "containers: {runtime: charliecloud}\n" * bool(image)
    stamp = IN_A_CONTAINER if image else STAMP
    text = JOB.replace("ROLES", "".join(ROLE % (k, tasks, stamp) for k in range(roles))).replace("NAME", f"b{roles}")
    text = text.replace("IMAGE", str(image or "debian"))
    script = _script(folder, text, containers)
    directives = [line for line in script.read_text().splitlines() if line.startswith("#SBATCH")]
    options = "--mpi=none --exact --mem-per-cpu=100M --cpus-per-task=1 --gres=none"
    bare = folder / "bare.sbatch"
    sruns = f"srun {options} --ntasks={tasks} bash -c '{STAMP}' &\n" * roles
    bare.write_text(
        "\n".join(["#!/bin/bash", *directives, BEGAN])
        + "unset SLURM_CPUS_PER_TASK SLURM_NTASKS_PER_NODE SLURM_NTASKS\n"
        + sruns
        + "wait\n"
    )
    times: dict[Path, list[float]] = {script: [], bare: []}
    for turn in range(TURNS):
        for file, taken in times.items():
            taken.append(_start(cluster, folder, file, roles * tasks, turn))
    what = f"start of {roles * tasks} tasks in {roles} role(s){' in containers' * bool(image)} : bare srun"
    return Ratio(what, *typical([times[script], times[bare]]), limit)


def _all_reduce(cluster: Cluster, image: Path) -> Ratio:
    """Return the ratio for the ranks of an mpirun that goes from container to container by ssh, to ten seconds."""
    folder = folder_of_alice(cluster.home("alice") / f"bench-{os.getpid()}-mpirun")
    allreduce = [str(ROOT / "tests/cluster/allreduce.c"), "-o", str(folder / "allreduce")]
    subprocess.run(["mpicc.openmpi", *allreduce], check=True)
    text = MPI_JOB.replace("IMAGE", str(image)).replace("PROGRAM", str(folder / "allreduce"))
    script = _script(folder, text, f"containers: {{runtime: charliecloud, mounts: [{folder}]}}\n")
    times = [_start(cluster, folder, script, 8, turn) for turn in range(TURNS)]
    return Ratio("from a job's start to the all-reduce of mpirun in its containers : 10 s", min(times), 10, 1)


def _script(folder: Path, text: str, containers: str) -> Path:
    """Leave the script of a job, which says when it began."""
    site = load_site((ROOT / "examples/site.yaml").read_text() + containers, file="site.yaml")
    script = folder / "job.sbatch"
    text, first = compile_job(text, site=site).script, "\nset -u +o posix\n"
    assert first in text
    script.write_text(text.replace(first, f"\n{BEGAN}{first.lstrip()}", 1))
    return script


def _start(cluster: Cluster, folder: Path, script: Path, tasks: int, turn: int) -> float:
    stamps = folder_of_alice(folder / f"{script.stem}-{turn}")
    done = cluster.run(["sbatch", "--wait", str(script)], cwd=stamps, env={"STAMPS": str(stamps)}, timeout=120)
    files = [file for file in stamps.glob("*.*.*") if file.is_file() and file.suffix != ".out"]
    found = [float(file.read_text()) for file in (*files, *stamps.rglob("stamp*"))]
    (began,) = (float(file.read_text()) for file in stamps.glob("*.began"))
    if len(found) != tasks:
        sys.exit(
            f"{len(found)} of {tasks} tasks started: {done.stderr}\n"
            + "".join(f.read_text() for f in stamps.glob("slurm*"))
        )
    return max(found) - began
