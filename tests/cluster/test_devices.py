"""Which GPUs tasks see: their own, and no other task's that runs beside them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cluster.jobs import BOTH, ONE_ATTEMPT, folder_of_alice, role, submit, submit_file, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster
    from tests.cluster.jobs import Submitted

NAMES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
LOOK = 'echo "$SLURMD_NODENAME ' + " ".join(f"${{{name}-unset}}" for name in NAMES) + '"'
OF_THE_SHELL = {"CUDA_VISIBLE_DEVICES": "7", "HIP_VISIBLE_DEVICES": "7"}
"""What the shell that submits has set, for itself."""


def gpu_role(name: str, count: int, gpus: int, command: str) -> str:
    return role(name, count, command).replace("gpu: 0", f"gpu: {gpus}")


def meet(folder: Path, tasks: int) -> str:
    """Return a command that looks, and ends when all tasks of the job have looked: they run side by side."""
    marks = folder_of_alice(folder.with_name(folder.name + "-marks"))
    mark = f'"{marks}/$PAI_TASK_ROLE_NAME-$PAI_TASK_INDEX"'
    return f"{LOOK}; : >{mark}; until ((`ls {marks} | wc -l` == {tasks})); do sleep 0.1; done"


def seen(job: Submitted, *tasks: str) -> list[list[str]]:
    """Return for each task its node, and what it has in NAMES."""
    code, result = job.ended()
    assert (code, {task["state"] for task in result["tasks"]}) == (0, {"SUCCEEDED"})
    # An empty list stands between two blanks.
    return [job.log(task).rstrip("\n").split(" ") for task in tasks]


@BOTH
def test_no_task_sees_the_gpus_of_another_role(installed: Cluster, workdir: Path, layout: str) -> None:
    command = meet(workdir, 5)
    roles = gpu_role("worker", 2, 1, command) + gpu_role("other", 2, 1, command) + gpu_role("none", 1, 0, command)
    write(workdir, roles, f"{{slurm: {{layout: {layout}}}}}")
    job = submit_file(installed, workdir, env=OF_THE_SHELL)
    *found, (_, *without) = seen(job, "0-worker/0", "0-worker/1", "1-other/0", "1-other/1", "2-none/0")
    own = [(node, lists[0]) for node, *lists in found]
    assert len(set(own)) == len(own)
    assert all(devices in "0123" and lists[1] == devices for (_, devices), (_, *lists) in zip(own, found, strict=True))
    assert without[:2] == ["", "none"]
    if layout == "shared":
        assert len({node for node, _ in own}) == 1


def test_slot_gives_all_its_tasks_the_same_gpus(installed: Cluster, workdir: Path) -> None:
    roles = gpu_role("t", 6, 2, f"{LOOK}; echo $SLURM_LOCALID")
    job = submit(installed, workdir, roles, "{gangAllocation: false, slurm: {slots: 2}}")
    found = seen(job, *(f"0-t/{index}" for index in range(6)))
    lists = {(words[1], words[-1].split("\n")[1]) for words in found}
    assert lists <= {("0,1", "0"), ("2,3", "1")}
    assert lists


def test_amd_gpus_are_listed_for_rocm_but_not_hip(installed: Cluster, workdir: Path) -> None:
    """ROCm has the list, and HIP, which counts within it, has none."""
    settings = ONE_ATTEMPT + "gpus: {vendor: amd}\n"
    command = meet(workdir, 3)
    roles = gpu_role("worker", 2, 2, command) + gpu_role("none", 1, 0, command)
    write(workdir, roles, settings=settings)
    job = submit_file(installed, workdir, env=OF_THE_SHELL)
    found = seen(job, "0-worker/0", "0-worker/1", "1-none/0")
    assert [lists for _, *lists in found] == [
        ["unset", "0,1", "0,1", "unset"],
        ["unset", "2,3", "2,3", "unset"],
        ["unset", "none", "", "unset"],
    ]


def test_tasks_get_separate_gpus_of_a_custom_gres(installed: Cluster, workdir: Path) -> None:
    """Two jobs on the same nodes, and two roles of one: what each has is its own, whatever Slurm tells tasks of it."""
    settings = ONE_ATTEMPT + "gpus: {gres: rtx}\n"
    folders = [folder_of_alice(workdir / name) for name in ("narrow", "wide")]
    command = meet(workdir, 5)
    narrow = gpu_role("worker", 1, 1, command) + gpu_role("other", 1, 1, command)
    wide = gpu_role("wide", 3, 1, command)
    for folder, roles in zip(folders, (narrow, wide), strict=True):
        write(folder, roles, settings=settings, partition="pair")
        (folder / "site.yaml").write_text((folder / "site.yaml").read_text().replace("count: 4", "count: 2"))
    jobs = [submit_file(installed, folder, env=OF_THE_SHELL) for folder in folders]
    found = seen(jobs[0], "0-worker/0", "1-other/0") + seen(jobs[1], "0-wide/0", "0-wide/1", "0-wide/2")
    own = [(node, lists[0]) for node, *lists in found]
    assert len(set(own)) == len(own)
    assert {devices for _, devices in own} <= set("0123")
    assert all(lists[1] == lists[0] for _, *lists in found)


def test_v1_gpu_type_is_requested_as_gres_type(installed: Cluster, workdir: Path) -> None:
    """V1's gpuType is the gres type that the nodes of the profile have; a type they do not have is an error."""
    write(workdir, "")
    job_file = {
        "jobName": f"{workdir.name[-30:].strip('-')}",
        "image": "debian",
        "gpuType": "V100",
        "taskRoles": [
            {"name": "w", "taskNumber": 2, "cpuNumber": 1, "memoryMB": 100, "gpuNumber": 1, "command": LOOK},
        ],
    }
    (workdir / "job.json").write_text(json.dumps(job_file))
    job = submit_file(installed, workdir, "job.json")
    own = [(node, lists[0]) for node, *lists in seen(job, "0-w/0", "0-w/1")]
    assert len({node for node, _ in own}) == 1
    assert len({devices for _, devices in own} & set("0123")) == 2
    assert "\n#SBATCH --gres=gpu:v100:2\n" in job.script()
