"""Published jobs of protocol v1 that train: TensorFlow's of all three generations, and two of mpirun."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.cluster.instance import ALICE
from tests.cluster.jobs import STANDIN, folder_of_alice, profile_of_v1, states, submit_published

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster
    from tests.cluster.jobs import Submitted

TRAINER = Path(__file__).with_name("trainer.py")


@dataclass(frozen=True)
class Training:
    """A published job of two parameter servers and two workers.

    `folder` is what its paths have in common, below the default file system; `program` is its training program.
    Only one of them is heterogeneous: Slurm 22.05 puts off those that compete for nodes by a minute.
    """

    folder: str
    name: str
    rule: str
    layout: str = "shared"
    program: str = "tf_cnn_benchmarks.py"
    virtual_cluster: str = "default"
    packages: str = "scipy"
    others: tuple[str, ...] = ()
    kill_all: str | None = None


GUIDE = "path/tensorflow-distributed-jobguid"
TRAININGS = {
    "2018-tensorflow-distributed-example.json": Training(
        folder=GUIDE,
        name="tensorflow-distributed-jobguid",
        rule="2 succeeded tasks of all roles",
        layout="het",
        kill_all="2",
    ),
    "guide-2019-01-tensorflow-distributed.json": Training(
        folder=GUIDE,
        name="tensorflow-distributed-jobguid",
        rule="2 succeeded tasks of role worker",
        virtual_cluster="your_virtual_cluster",
    ),
    "guide-2019-05-tensorflow-distributed.json": Training(
        folder=GUIDE,
        name="tensorflow-distributed-jobguid",
        rule="2 succeeded tasks of role worker",
        virtual_cluster="your_virtual_cluster",
    ),
    "2018-tensorflow-mpi-example.json": Training(
        folder="path/tensorflow-mpi-jobguid",
        name="tensorflow-mpi-jobguid",
        rule="2 succeeded tasks of all roles",
        others=("--server_protocol=grpc+mpi",),
        kill_all="2",
    ),
    "tensorflow.distributed-cifar10.json": Training(
        folder=f"{ALICE}/examples/tensorflow/distributed-cifar-10",
        name="tensorflow-distributed-cifar10",
        rule="2 succeeded tasks of role worker",
        program="benchmarks/scripts/tf_cnn_benchmarks/tf_cnn_benchmarks.py",
        packages="scipy absl-py",
    ),
}
WITH_CODE = {
    "cntk-mpi.json": (
        f"{ALICE}/examples/mpi/cntk/code/cntk-mpi.sh",
        "mpirun --allow-run-as-root -np 2 --host worker-0,worker-1 /bin/bash cntk-mpi.sh",
        ["mpi-0 SUCCEEDED", "worker-0 STOPPED", "worker-1 STOPPED"],
    ),
    "horovod.json": (
        f"{ALICE}/examples/horovod/code/start.sh",
        "mpirun -np 2 python train.py",
        ["main-0 SUCCEEDED", "worker-0 STOPPED"],
    ),
}
"""Published jobs whose first role calls mpirun and whose workers wait: the file of their code, the call, the ends."""
AMOUNTS = {"ps_server": ("2", "8192", "0"), "worker": ("2", "16384", "4")}
"""CPUs, memory and GPUs of a task."""


def stage(training: Training, file_system: Path) -> Path:
    """Put code and data where the job looks for them, and return the job's folder there."""
    folder = file_system / training.folder
    program = folder / "code" / training.program
    for path in (program.parent, folder / "data", folder / "output"):
        path.mkdir(parents=True)
    shutil.copy(TRAINER, program)
    (folder / "data" / "data_batch_1").write_text("cifar10\n")
    (folder / "output").chmod(0o777)
    return folder


def test_published_v1_parameter_server_jobs_train(installed: Cluster, workdir: Path, published: Path) -> None:
    jobs = {}
    for name, training in TRAININGS.items():
        folder = folder_of_alice(workdir / Path(name).stem)
        stage(training, folder / "fs")
        site = profile_of_v1(training.layout) + f"defaultFileSystem: {folder}/fs\n"
        jobs[name] = submit_published(installed, published / "v1" / name, folder, {"pip": STANDIN}, site=site)
    for name, training in TRAININGS.items():
        check_training(name, jobs[name], training)


def test_waiting_workers_are_stopped_when_the_first_role_succeeds(
    installed: Cluster, workdir: Path, published: Path
) -> None:
    """A command that is a bare shell waits for ever, as `sleep infinity` does; the job ends with its first role."""
    jobs = {}
    for name, (code, call, _) in WITH_CODE.items():
        folder = folder_of_alice(workdir / Path(name).stem)
        (folder / "fs" / code).parent.mkdir(parents=True)
        (folder / "fs" / code).write_text(f"{call}\n")
        site = profile_of_v1("shared") + f"defaultFileSystem: {folder}/fs\n"
        jobs[name] = submit_published(installed, published / "v1" / name, folder, {"mpirun": STANDIN}, site=site)
    for name, (_, call, ends) in WITH_CODE.items():
        code, result = jobs[name].ended()
        assert (name, code, states(result)) == (name, 0, ends)
        (calls,) = (jobs[name].folder / "log").glob("*.calls")
        assert shlex.split(calls.read_text()) == call.split()


def check_training(name: str, job: Submitted, training: Training) -> None:
    code, result = job.ended()
    printed = [path.read_text() for path in sorted(job.attempt.glob("logs/*/*.stderr.log"))]
    assert (name, code, result["outcome"]) == (name, 0, "succeeded"), printed
    assert result["reason"].endswith(f" succeeded: {training.rule} complete the job")
    assert (name, states(result)) == (
        name,
        ["ps_server-0 STOPPED", "ps_server-1 STOPPED", "worker-0 SUCCEEDED", "worker-1 SUCCEEDED"],
    )
    plan = json.loads((job.attempt.parents[1] / "plan.json").read_text())
    assert (name, plan["layout"]["kind"]) == (name, training.layout)
    files = job.folder / "fs" / training.folder
    assert sorted(path.name for path in (files / "output").iterdir()) == ["model-0", "model-1"]
    # Each task had a copy of the code that was its own.
    assert [path.relative_to(files) for path in files.rglob("owner")] == []
    for task in ("ps_server-0", "ps_server-1", "worker-0", "worker-1"):
        role, _, index = task.partition("-")
        record = json.loads((job.folder / "log" / f"{task}.json").read_text())
        calls = shlex.split((job.folder / "log" / f"{task}.calls").read_text())
        assert calls == ["pip", "--quiet", "install", *training.packages.split()]
        check_record(record, role, index, training, files)


def check_record(record: dict[str, Any], role: str, index: str, training: Training, files: Path) -> None:
    found: dict[str, str] = record["environment"]
    addresses = {
        name: ",".join(f"{found[f'PAI_HOST_IP_{name}_{n}']}:{found[f'PAI_PORT_LIST_{name}_{n}_http']}" for n in (0, 1))
        for name in AMOUNTS
    }
    assert record["options"] == {
        "job_name": role.removesuffix("_server"),
        "task_index": int(index),
        "ps_hosts": addresses["ps_server"],
        "worker_hosts": addresses["worker"],
        "data_dir": str(files / "data"),
        "train_dir": str(files / "output"),
    }
    assert record["others"] == [
        "--local_parameter_device=cpu",
        "--batch_size=32",
        "--model=resnet20",
        "--variable_update=parameter_server",
        "--data_name=cifar10",
        *training.others,
    ]
    cpus, memory, gpus = AMOUNTS[role]
    succeeded = "2" if role == "worker" and training.rule.endswith("worker") else ""
    address, _, port = addresses[role].split(",")[int(index)].partition(":")
    expected = {
        "PAI_JOB_NAME": training.name,
        "PAI_USER_NAME": ALICE,
        "PAI_USERNAME": ALICE,
        "PAI_JOB_VC_NAME": training.virtual_cluster,
        "PAI_DEFAULT_FS_URI": str(files).removesuffix(f"/{training.folder}"),
        "PAI_DATA_DIR": str(files / "data"),
        "PAI_OUTPUT_DIR": str(files / "output"),
        "PAI_CODE_DIR": str(files / "code"),
        "PAI_WORK_DIR": found["PWD"],
        "PAI_JOB_TASK_COUNT": "4",
        "PAI_JOB_TASK_ROLE_COUNT": "2",
        "PAI_JOB_TASK_ROLE_LIST": "ps_server,worker",
        "PAI_TASK_ROLE_ps_server_HOST_LIST": addresses["ps_server"],
        "PAI_TASK_ROLE_worker_HOST_LIST": addresses["worker"],
        "PAI_TASK_ROLE_0_HOST_LIST": addresses["ps_server"],
        "PAI_TASK_ROLE_1_HOST_LIST": addresses["worker"],
        "PAI_CURRENT_TASK_ROLE_NAME": role,
        "PAI_CURRENT_TASK_ROLE_TASK_COUNT": "2",
        "PAI_CURRENT_TASK_ROLE_CPU_COUNT": cpus,
        "PAI_CURRENT_TASK_ROLE_MEM_MB": memory,
        "PAI_CURRENT_TASK_ROLE_GPU_COUNT": gpus,
        "PAI_CURRENT_TASK_ROLE_SHM_MB": "64",
        "PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT": "1",
        "PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT": succeeded,
        "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX": index,
        "PAI_CURRENT_CONTAINER_IP": address,
        "PAI_CURRENT_CONTAINER_PORT": port,
        "PAI_CONTAINER_HOST_IP": address,
        "PAI_CONTAINER_HOST_PORT": port,
        "PAI_CONTAINER_SSH_PORT": found[f"PAI_PORT_LIST_{role}_{index}_ssh"],
        "PAI_RESOURCE_worker": "4,2,16384,64",
        "PAI_KILL_ALL_ON_COMPLETED_TASK_NUM": training.kill_all,
    }
    assert {name: found.get(name) for name in expected} == expected
    # As many GPUs as the role asks for, of those that Slurm has.
    assert len(found.get("CUDA_VISIBLE_DEVICES", "").split(",")) == (4 if role == "worker" else 1)
