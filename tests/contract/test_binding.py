"""`binding` on a real Slurm: srun takes the options, and tasks have as many threads as CPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import BOTH, role

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

LOOK = 'echo "${OMP_NUM_THREADS:-none} ${SLURM_CPU_BIND_LIST-unset}"'
ROLES = role("wide", 1, LOOK).replace("cpu: 1", "cpu: 2") + role("narrow", 2, LOOK)
NO_THREADS = {"OMP_NUM_THREADS": ""}
"""The shell that runs the tests may have a number of its own; an empty one is none."""


@BOTH
@pytest.mark.parametrize(
    ("binding", "options", "threads"),
    [
        ("auto", "", ("2", "1")),
        ("none", "--cpu-bind=none --mem-bind=none", ("none", "none")),
        ("{cpu: cores, mem: local}", "--cpu-bind=cores --mem-bind=local", ("2", "1")),
        ("{tasksPerSocket: 2}", "--ntasks-per-socket=2", ("2", "1")),
    ],
    ids=["auto", "none", "options", "sockets"],
)
def test_tasks_are_bound(
    site: Site, folder: Path, layout: str, binding: str, options: str, threads: tuple[str, str]
) -> None:
    """Slurm may say that it lacks a plugin for binding."""
    job = site.submit(folder, ROLES, f"{{slurm: {{layout: {layout}, binding: {binding}}}}}", env=NO_THREADS)
    code, result = job.ended(loud=True)
    assert (code, {task["state"] for task in result["tasks"]}) == (0, {"SUCCEEDED"}), job.said()
    wide, narrow = threads
    found = [job.log(task) for task in ("0-wide/0", "1-narrow/0", "1-narrow/1")]
    assert found == [f"{wide} unset\n", f"{narrow} unset\n", f"{narrow} unset\n"]
    assert options in " ".join(job.script().replace("\\\n", " ").split())


def test_gpus_that_slurm_divides(site: Site, folder: Path) -> None:
    """Each task has one of its own, which no number of the task's place is added to."""
    roles = role("gpu", 2, 'echo "$CUDA_VISIBLE_DEVICES"; sleep 2').replace("gpu: 0", "gpu: 1")
    job = site.submit(folder, roles, '{slurm: {binding: {gpu: "per_task:1"}}}')
    code, _ = job.ended()
    found = [job.log(f"0-gpu/{index}").strip() for index in (0, 1)]
    assert code == 0
    assert all(each.isdigit() for each in found), found


def test_the_number_of_threads_of_the_shell_or_the_commands_counts(site: Site, folder: Path) -> None:
    roles = role("shell", 1, LOOK) + role("own", 1, f"export OMP_NUM_THREADS=5; {LOOK}")
    job = site.submit(folder, roles, env={"OMP_NUM_THREADS": "3"})
    code, _ = job.ended()
    assert (code, job.log("0-shell/0"), job.log("1-own/0")) == (0, "3 unset\n", "5 unset\n")
