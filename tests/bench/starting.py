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
from tests.cluster.instance import GROUP_ID, USERS

from .measure import Ratio

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
TURNS = 7
IN_A_CONTAINER = "date +%s.%N >stamp"
"""There a task has none of Slurm's variables, and its folder."""
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


def run() -> Iterator[Ratio]:
    """Boot the cluster and yield the ratios."""
    cluster = Cluster()
    booted = cluster.up()
    try:
        for roles, tasks, limit in ((1, 64, 4), (20, 1, 2)):
            yield _ratio(cluster, roles, tasks, limit)
        yield _ratio(cluster, 1, 64, 6, image=_image(cluster))
    finally:
        if booted:
            cluster.down()


def _image(cluster: Cluster) -> Path:
    """Return an unpacked image of Debian, made once for a cluster."""
    image = cluster.instance.folder / "bench-image"
    if not image.exists():
        new = image.with_name(f"{image.name}.{os.getpid()}")
        argv = ["mmdebstrap", "--quiet", "--variant=minbase", "--format=directory", "bookworm", str(new)]
        subprocess.run(argv, check=True)
        (new / "mnt" / "0").mkdir(exist_ok=True)
        new.rename(image)
    return image


def _ratio(cluster: Cluster, roles: int, tasks: int, limit: float, image: Path | None = None) -> Ratio:
    """Return the ratio for a job whose tasks run on the nodes themselves, or in containers of an image."""
    folder = cluster.home("alice") / f"bench-{os.getpid()}-{roles}-{'image' if image else 'bare'}"
    folder.mkdir()
    os.chown(folder, USERS["alice"].uid, GROUP_ID)
    profile = (ROOT / "examples/site.yaml").read_text() + "containers: {runtime: charliecloud}\n" * bool(image)
    site = load_site(profile, file="site.yaml")
    stamp = IN_A_CONTAINER if image else STAMP
    text = JOB.replace("ROLES", "".join(ROLE % (k, tasks, stamp) for k in range(roles))).replace("NAME", f"b{roles}")
    text = text.replace("IMAGE", str(image or "debian"))
    script = folder / "job.sbatch"
    # The first thing that either script does is to look at the clock.
    began = '(($#)) || date +%s.%N >"$STAMPS/$SLURM_JOB_ID.began"\n'
    script.write_text(compile_job(text, site=site).script.replace("\nset -u\n", f"\n{began}set -u\n", 1))
    directives = [line for line in script.read_text().splitlines() if line.startswith("#SBATCH")]
    options = "--mpi=none --exact --mem-per-cpu=100M --cpus-per-task=1 --gres=none"
    bare = folder / "bare.sbatch"
    sruns = f"srun {options} --ntasks={tasks} bash -c '{STAMP}' &\n" * roles
    bare.write_text(
        "\n".join(["#!/bin/bash", *directives, began])
        + "unset SLURM_CPUS_PER_TASK SLURM_NTASKS_PER_NODE SLURM_NTASKS\n"
        + sruns
        + "wait\n"
    )
    times: dict[Path, list[float]] = {script: [], bare: []}
    for turn in range(TURNS):
        for file, taken in times.items():
            taken.append(_start(cluster, folder, file, roles * tasks, turn))
    return Ratio(
        f"start of {roles * tasks} tasks in {roles} role(s){' in containers' * bool(image)} : bare srun",
        min(times[script]),
        min(times[bare]),
        limit,
    )


def _start(cluster: Cluster, folder: Path, script: Path, tasks: int, turn: int) -> float:
    stamps = folder / f"{script.stem}-{turn}"
    stamps.mkdir()
    os.chown(stamps, USERS["alice"].uid, GROUP_ID)
    done = cluster.run(["sbatch", "--wait", str(script)], cwd=stamps, env={"STAMPS": str(stamps)}, timeout=120)
    files = [file for file in stamps.glob("*.*.*") if file.is_file() and file.suffix != ".out"]
    found = [float(file.read_text()) for file in (*files, *stamps.glob("*/attempts/0/work/*/*/stamp"))]
    (began,) = (float(file.read_text()) for file in stamps.glob("*.began"))
    if len(found) != tasks:
        sys.exit(
            f"{len(found)} of {tasks} tasks started: {done.stderr}\n"
            + "".join(f.read_text() for f in stamps.glob("slurm*"))
        )
    return max(found) - began
