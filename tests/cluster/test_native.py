"""Native MPI launch: srun starts the commands as ranks of one world."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.cluster.instance import host_name, require_privilege
from tests.cluster.jobs import BOTH, ONE_ATTEMPT, WHERE, Submitted, role, submit, submit_file, write

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster

SOURCE = Path(__file__).parent / "allreduce.c"
OFFERS = ONE_ATTEMPT + "mpi: [pmix, pmi2]\n"
BEFORE = (
    "{name: before, type: script, plugin: com.microsoft.pai.runtimeplugin.cmd, "
    "callbacks: [{event: taskStarts, commands: [export FROM_SCRIPT=set]}]}"
)


def program(workdir: Path) -> Path:
    path = workdir / "programs" / "allreduce"
    path.parent.mkdir()
    subprocess.run(["mpicc.openmpi", "-o", str(path), str(SOURCE)], check=True)
    path.chmod(0o755)
    return path


def cpus(roles: str, count: int) -> str:
    return roles.replace("cpu: 1,", f"cpu: {count},").replace("memoryMB: 100", "memoryMB: 1000")


def ended(job: Submitted) -> tuple[int, dict[str, Any]]:
    code, result = job.ended()
    for log in job.attempt.glob("srun/*.log"):
        assert "srun: error" not in log.read_text(), log.read_text()
    return code, result


@BOTH
def test_two_roles_form_one_mpi_world(installed: Cluster, workdir: Path, layout: str) -> None:
    if layout == "het":
        require_privilege("MPI between hosts")
    command = f"{WHERE}; {program(workdir)}"
    roles = cpus(role("master", 1, command) + role("worker", 2, command), 4)
    extras = f"{{slurm: {{layout: {layout}, mpi: {{ranksPerInstance: 2}}, "
    # In components whose nodes are in order: Slurm 22.05 mistakes those that are not (W414).
    first, then = ("nodelist: n1", "nodelist: n4, ") if layout == "het" else ("", "")
    extras += f"taskRoles: {{master: {{{first}}}, worker: {{{then}mpi: {{ranksPerInstance: 3}}}}}}}}}}"
    # Fewer than one CPU for each rank would be refused, more are left idle.
    if layout == "shared":
        roles = roles.replace("cpu: 4,", "cpu: 2,", 1).replace("cpu: 4,", "cpu: 3,")
        roles = roles.replace("memoryMB: 1000", "memoryMB: 800", 1).replace("memoryMB: 1000", "memoryMB: 1200")
    job = submit(installed, workdir, roles, extras, OFFERS)
    code, result = ended(job)
    assert (code, result["outcome"]) == (0, "succeeded"), [path.read_text() for path in job.attempt.glob("srun/*.log")]
    next_rank = 0
    places = job.places(result["tasks"]).values()
    folders = ("0-master/0", "1-worker/0", "1-worker/1")
    for task, place, folder, ranks in zip(result["tasks"], places, folders, (2, 3, 3), strict=True):
        out = job.log(folder)
        found = sorted(re.findall(r"^rank (\d) of 8 on (\S+): 36 ", out, re.MULTILINE))
        assert found == [(str(next_rank + k), host_name(task["node"])) for k in range(ranks)]
        assert out.splitlines().count(place) == ranks
        next_rank += ranks


def test_first_failed_rank_fails_its_task(installed: Cluster, workdir: Path) -> None:
    # The third rank of the second task fails; the others of it have begun by then, and mind no TERM.
    command = (
        "trap : TERM; touch begun.$SLURM_PROCID; ((PAI_TASK_INDEX)) || exit 0; "
        "until [[ -e begun.3 && -e begun.4 && -e begun.5 ]]; do sleep 0.1; done; "
        "[[ $SLURM_PROCID != 5 ]] || exit 3; while :; do sleep 1; done"
    )
    job = submit(
        installed,
        workdir,
        cpus(role("worker", 2, command, failed=-1), 3),
        "{slurm: {mpi: {ranksPerInstance: 3}}}",
        OFFERS,
    )
    code, result = job.ended()
    assert [(task["state"], task["exit_status"]) for task in result["tasks"]] == [("SUCCEEDED", 0), ("FAILED", 3)]
    assert code == 0


def test_mpi_abort_fails_all_tasks_of_the_world(installed: Cluster, workdir: Path) -> None:
    source = workdir / "abort.c"
    source.write_text(
        "#include <mpi.h>\n#include <unistd.h>\nint main(int c, char **v) { int r; MPI_Init(&c, &v);"
        " MPI_Comm_rank(MPI_COMM_WORLD, &r); if (r == 1) MPI_Abort(MPI_COMM_WORLD, 7); for (;;) sleep(1); }\n"
    )
    subprocess.run(["mpicc.openmpi", "-o", str(workdir / "abort"), str(source)], check=True)
    (workdir / "abort").chmod(0o755)
    roles = cpus(role("worker", 2, f"{workdir}/abort", failed=-1), 2)
    job = submit(installed, workdir, roles, "{slurm: {mpi: {ranksPerInstance: 2}}}", OFFERS)
    _, result = job.ended()
    assert {task["state"] for task in result["tasks"]} == {"FAILED"}, result
    assert all(task["exit_status"] for task in result["tasks"])


def test_ranks_have_the_gpus_and_the_exports_of_their_task(installed: Cluster, workdir: Path) -> None:
    roles = role("worker", 2, 'echo "$CUDA_VISIBLE_DEVICES $NVIDIA_VISIBLE_DEVICES $FROM_SCRIPT $PMIX_RANK"')
    roles = (
        cpus(roles, 2)
        .replace("gpu: 0", "gpu: 2")
        .replace("    dockerImage", "    prerequisites: [before]\n    dockerImage")
    )
    write(workdir, roles, "{slurm: {mpi: {ranksPerInstance: 2}}}", OFFERS)
    file = workdir / "job.yaml"
    file.write_text(file.read_text().replace("prerequisites: [", f"prerequisites: [{BEFORE}, ", 1))
    job = submit_file(installed, workdir)
    code, _ = ended(job)
    assert code == 0
    for index, devices in enumerate(("0,1", "2,3")):
        lines = sorted(job.log(f"0-worker/{index}").splitlines())
        assert lines == [f"{devices} {devices} set {2 * index + k}" for k in range(2)]
