"""Native MPI launch in containers: ranks of one world, whose MPI is the image's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import ONE_ATTEMPT, role, submit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster

SHARED = (
    'touch /tmp/rank$SLURM_PROCID "$HOME/rank$SLURM_PROCID"; '
    'until (($(ls /tmp "$HOME" | grep -c ^rank) == 4)); do sleep 0.1; done; '
)
"""Each rank waits for the files of the other rank of its task, in the image and in /tmp, which no other task has."""
RUN = {
    "openmpi": "{}",
    # Debian's MPICH (4.0, with UCX 1.13) often never leaves MPI_Finalize, even by itself: it has done all before.
    "mpich": "{} >rank.$SLURM_PROCID & until (($(cat ../*/rank.* | grep -c ^rank) == 8)) || ! kill -0 $!; "
    "do sleep 0.1; done; cat rank.$SLURM_PROCID; kill -KILL $!",
}


@pytest.mark.parametrize(("plugin", "implementation"), [("pmix", "openmpi"), ("pmi2", "mpich")])
def test_ranks_of_two_nodes_form_one_world(
    installed: Cluster, workdir: Path, image: Path, programs: Path, plugin: str, implementation: str
) -> None:
    """Two tasks on each node, each with a container that its two ranks share."""
    command = SHARED + RUN[implementation].format(f"{programs}/{implementation} 100000")
    roles = role("worker", 4, command).replace("cpu: 1,", "cpu: 8,").replace("memoryMB: 100", "memoryMB: 2000")
    settings = f"{{runtime: charliecloud, images: {{debian: {image}}}, mounts: [{programs}]}}"
    extras = f"{{slurm: {{mpi: {{plugin: {plugin}, ranksPerInstance: 2}}}}}}"
    job = submit(
        installed, workdir, roles, extras, f"{ONE_ATTEMPT}mpi: [pmix, pmi2]\ncontainers: {settings}\n", partition="pair"
    )
    calls = job.calls()
    code, result = job.ended()
    logs = [job.log(f"0-worker/{index}") for index in range(4)]
    errors = [job.log(f"0-worker/{index}", "stderr.log") for index in range(4)]
    assert (code, result["outcome"]) == (0, "succeeded"), logs + errors
    ranks = [sorted(re.findall(r"^rank (\d) of 8 on (\w+): 36 ", log, re.MULTILINE)) for log in logs]
    assert ranks == [[(str(2 * task["index"] + k), task["node"]) for k in (0, 1)] for task in result["tasks"]]
    assert {task["node"] for task in result["tasks"]} == {"n1", "n2"}
    # Open MPI says nothing of the memory of other containers, which it cannot read.
    assert implementation == "mpich" or errors == [""] * 4
    for node in ("n1", "n2"):
        left = installed.run(["ls", "/tmp", "/dev/shm"], host=node).stdout
        assert calls.rpartition("/")[2] not in left
