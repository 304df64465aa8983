"""Native MPI launch: srun starts ranks on two nodes as one world, with the MPI of the nodes or of an image."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import ONE_ATTEMPT, role
from tests.cluster.processes import wait_until
from tests.contract.test_calls import compiled, containers, program_of_image
from tests.left_out import not_asked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

SHARED = (
    '[ "$(umask)" = 0022 ] || exit 1; touch /tmp/rank$SLURM_PROCID "$HOME/rank$SLURM_PROCID"; '
    'until (($(ls /tmp "$HOME" | grep -c ^rank) == 4)); do sleep 0.1; done; '
)
"""Each rank waits for the files of the other rank of its task, in the image and in /tmp, which no other task has.

It has the umask of the submit."""
RUN = {
    "openmpi": "{program}",
    # Debian's MPICH (4.0, with UCX 1.13) often never leaves MPI_Finalize, even by itself: it has done all before.
    "mpich": "{program} >rank.$SLURM_PROCID & until (($(cat ../*/rank.* | grep -c ^rank) == {ranks})) || ! kill -0 $!; "
    "do sleep 0.1; done; cat rank.$SLURM_PROCID; kill -KILL $! 2>/dev/null || true",
}


def skip_without(site: Site, plugin: str) -> None:
    plugins = site.administrator.run(["srun", "--mpi=list"], user="root")
    if plugin not in re.findall(r"\w+", plugins.stdout + plugins.stderr):
        not_asked(f"this Slurm has no MPI plugin {plugin}")


@pytest.mark.parametrize(
    ("plugin", "implementation", "contained"),
    [("pmix", "openmpi", False), ("pmix", "openmpi", True), ("pmi2", "mpich", True)],
    ids=["pmix-openmpi", "pmix-openmpi-charliecloud", "pmi2-mpich-charliecloud"],
)
def test_ranks_of_two_nodes_form_one_world(
    site: Site, folder: Path, plugin: str, implementation: str, contained: bool
) -> None:
    """Two tasks on each node with two ranks each, which in containers share that of their task."""
    skip_without(site, plugin)
    program = program_of_image(site, implementation) if contained else compiled(site)
    settings = containers(site, program.parent) if contained else ONE_ATTEMPT
    shared = SHARED * contained
    form_one_world(site, folder, program, settings, f"{{plugin: {plugin}, ranksPerInstance: 2}}", shared, "pair")


def form_one_world(
    site: Site, folder: Path, program: Path, settings: str, mpi: str, before: str = "", partition: str = ""
) -> None:
    """Run a job of four tasks on two nodes, whose ranks all add up, after a command that comes `before`.

    Ranks that hang meet the time limit, so that their logs are seen.
    """
    each = 2 if "ranksPerInstance: 2" in mpi else 1
    run = RUN.get(program.name, RUN["openmpi"]).format(program=f"{program} 100000", ranks=4 * each)
    roles = role("worker", 4, before + run).replace("cpu: 1,", "cpu: 8,").replace("memoryMB: 100", "memoryMB: 2000")
    settings += "mpi: [pmix, pmi2]\n"
    job = site.submit(folder, roles, f"{{slurm: {{mpi: {mpi}, time: 2}}}}", settings, partition=partition)
    code, result = job.ended()
    logs = [job.log(f"0-worker/{index}") for index in range(4)]
    errors = [job.log(f"0-worker/{index}", "stderr.log") for index in range(4)]
    assert (code, result["outcome"]) == (0, "succeeded"), logs + errors
    said = rf"^rank (\d) of {4 * each} on (\w+): {sum(range(4 * each + 1))} "
    ranks = [sorted(re.findall(said, log, re.MULTILINE)) for log in logs]
    assert ranks == [[(str(each * task["index"] + k), task["node"]) for k in range(each)] for task in result["tasks"]]
    assert {task["node"] for task in result["tasks"]} == {"n1", "n2"}
    # Open MPI says nothing of the memory of other containers, which it cannot read.
    assert program.name == "mpich" or errors == [""] * 4
    for node in ("n1", "n2"):
        # The result is there before the script has tidied.
        wait_until(lambda node=node: "-ranks" not in site.run("ls", "/dev/shm", host=node).stdout, f"tidying on {node}")
