"""MPI programs whose mpirun knows nothing of Slurm, and reaches the other tasks by ssh."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import ONE_ATTEMPT, role, submit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster

LAUNCHERS = {
    # As in the published Horovod jobs.
    "openmpi": "mpirun.openmpi -np 6 -H master-0:2,worker-0:2,worker-1:2 -bind-to none -map-by slot -mca pml ob1 {}",
    # Debian's MPICH (4.0, with UCX 1.13) often never leaves MPI_Finalize, even by itself: it has done all before.
    "mpich": "mpirun.mpich -np 6 -hosts master-0:2,worker-0:2,worker-1:2 {} >ranks & "
    "until (($(grep -c ^rank ranks) == 6)) || ! kill -0 $!; do sleep 0.1; done; cat ranks",
}
BARRIER = """
  com.microsoft.pai.runtimeplugin: [{plugin: ssh, parameters: {jobssh: true, sshbarrier: true}}]
  slurm: {layout: LAYOUT, compat: {background: stop}}"""


@pytest.mark.parametrize(
    ("implementation", "contained", "layout"),
    [("openmpi", True, "het"), ("openmpi", True, "shared"), ("mpich", False, "het"), ("mpich", True, "shared")],
)
def test_mpirun_starts_its_ranks_in_the_tasks(
    installed: Cluster, workdir: Path, image: Path, programs: Path, implementation: str, contained: bool, layout: str
) -> None:
    """In a container it finds no ssh but the task's, no sshd and no Slurm; containers of one node share little.

    Open MPI without containers is a case of the contract.
    """
    settings, program = ONE_ATTEMPT, str(programs / implementation)
    if contained:
        program += " 100000"
        settings += f"containers: {{runtime: charliecloud, images: {{debian: {image}}}, mounts: [{programs}]}}\n"
    master = role("master", 1, LAUNCHERS[implementation].format(program), succeeded=1)
    roles = (master + role("worker", 2, "sleep infinity")).replace("memoryMB: 100", "memoryMB: 2000")
    job = submit(installed, workdir, roles, BARRIER.replace("LAYOUT", layout), settings)
    code, result = job.ended()
    out = job.log("0-master/0")
    assert (code, result["outcome"]) == (0, "succeeded"), out + job.log("0-master/0", "stderr.log")
    ranks = re.findall(r"^rank (\d) of 6 on (\w+): 21 ", out, re.MULTILINE)
    assert sorted(int(rank) for rank, _ in ranks) == list(range(6))
    tasks = Counter(task["node"] for task in result["tasks"])
    assert Counter(host for _, host in ranks) == {node: 2 * count for node, count in tasks.items()}
