"""Published job files, as they stand, on the cluster; programs on PATH stand in for what they download and run."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.instance import require_privilege
from tests.cluster.jobs import ADDRESS, ONE_ATTEMPT, SITE, STANDIN, folder_of_alice, states, submit_published
from tests.cluster.test_distributed import CARRIED
from tests.cluster.test_training import TRAININGS, WITH_CODE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.cluster import Cluster
    from tests.cluster.jobs import Submitted

PROGRAMS = (
    "apt", "apt-get", "git", "horovodrun", "jupyter", "ls", "mkdir", "mpirun", "pip", "python", "python3", "rm",
    "sleep", "tar", "wget",
)  # fmt: skip
MNIST = Path(__file__).with_name("mnist.sh")
CIFAR = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
CIFAR_CALLS = f"wget -qO- {CIFAR}\ntar xvz"
BENCHMARKS = "https://github.com/MaggieQi/benchmarks script_tensorflow_cnnbenchmarks"
EDU = "https://raw.githubusercontent.com/microsoft/pai/pai-for-edu/contrib/edu-examples/pytorch_cifar10/src"
NOT_RUN = {
    "runtime-docker_image_auth.yaml": "an image of a private registry; its one command sleeps for ever",
    "runtime-ssh_test_job.yaml": "a login by ssh; its one command sleeps for two hours",
    "2018-cntk-example.json": "has a fault of its own, a hyphen in a role's name",
    "kafka.json": "its command is a file of the image",
    "serving.tensorflow.json": "its command is a file of the image, and is restarted for ever",
}
RUN_ELSEWHERE = {
    "CPU_500Task_MNIST.yaml": "below",
    "cifar10-single-mul-DDP-gloo.yaml": "test_distributed.py",
    **dict.fromkeys(CARRIED, "test_distributed.py"),
    **dict.fromkeys(TRAININGS, "test_training.py"),
    **dict.fromkeys(WITH_CODE, "test_training.py"),
}


@dataclass(frozen=True)
class Expected:
    """What a job file's tasks call, by task, and how the job ends.

    `folders` come with what the job clones or installs. Tasks that are not named may have been stopped early.
    """

    calls: dict[str, str]
    ends: tuple[str, ...]
    folders: str = ""
    status: int = 0
    printed: str | None = None
    environment: dict[str, str] = field(default_factory=dict)


def benchmark(job: str, data: str) -> str:
    """Return what a task of tensorflow-cifar10 calls; `data` are options that the two roles have in different order."""
    return f"""rm /usr/local/cuda/lib64/stubs/libcuda.so.1
wget -qO- {CIFAR}
tar xvz
git clone {BENCHMARKS}
git checkout 84820935288cab696c9c2ac409cbd46a1f24723d
python tf_cnn_benchmarks.py --job_name={job} --local_parameter_device=gpu --variable_update=parameter_server \
--ps_hosts=ADDRESS:PORT --worker_hosts=ADDRESS:PORT --task_index=0 {data} \
--train_dir=WORK/output_tensorflow_cifar10_model --model=resnet20 --batch_size=32"""


RUN = {
    # Their commands are files of the image: the first one that is missing ends the task, as errexit says.
    "caffe-mnist.yaml": Expected(calls={}, ends=("train-0 FAILED",), status=127),
    "tensorflow-serving-mnist.yaml": Expected(calls={}, ends=("worker-0 FAILED",), status=127),
    "pytorch-mnist.yaml": Expected(
        calls={"worker-0": "python3 examples/mnist/main.py --epochs 1 --lr 0.01 --batch-size 64"},
        ends=("worker-0 SUCCEEDED",),
        environment={"PAI_JOB_NAME": "pytorch_mnist", "PAI_CURRENT_TASK_ROLE_MEM_MB": "8192"},
    ),
    "caffe2-resnet50-debug.yaml": Expected(
        calls={
            "train-0": """mkdir --parents /pai_data/debug
apt-get install -y --no-install-recommends wget
wget https://raw.githubusercontent.com/microsoft/pai/master/contrib/debug-tools/openpaipdb/paipdb.py -P /pai_data/debug
python -m paipdb resnet50_trainer.py --train_data null --epoch_size 1000 --num_epochs 1"""
        },
        ends=("train-0 SUCCEEDED",),
        environment={"PAI_CONTAINER_HOST_debug_PORT_LIST": "PORT"},
    ),
    "mxnet-autoencoder.yaml": Expected(
        calls={
            "train-0": """pip install scipy==1.1.0 scikit-learn==0.19.2
wget https://raw.githubusercontent.com/amplab/datascience-sp14/master/lab7/mldata/mnist-original.mat \
-P /root/incubator-mxnet/data/mldata/
python mnist_sae.py --gpu"""
        },
        ends=("train-0 SUCCEEDED",),
        folders="incubator-mxnet/example/autoencoder",
    ),
    "tensorflow-cifar10.yaml": Expected(
        calls={
            "worker-0": benchmark("worker", "--data_name=cifar10 --data_dir=WORK/data_cifar10"),
            "psserver-0": benchmark("ps", "--data_dir=WORK/data_cifar10 --data_name=cifar10"),
        },
        ends=("worker-0 SUCCEEDED", "psserver-0 STOPPED"),
        folders="script_tensorflow_cnnbenchmarks/scripts/tf_cnn_benchmarks",
    ),
    "hello-world-job.yaml": Expected(
        calls={
            "taskrole-0": """git clone https://github.com/tensorflow/models
git reset --hard 62bf6fc0bb2b41a4fb851909c132647a7e0774b0
python download_and_convert_data.py --dataset_name=cifar10 --dataset_dir=/tmp/data
python train_image_classifier.py --dataset_name=cifar10 --dataset_dir=/tmp/data --max_number_of_steps=1000"""
        },
        ends=("taskrole-0 SUCCEEDED",),
        folders="models/research/slim",
    ),
    "Resnet18_horovod.yaml": Expected(
        calls={
            "taskrole-0": f"""wget {EDU}/cifar.py
wget {EDU}/horovod_cifar.py
wget {EDU}/init.sh
pip install horovod
horovodrun -np 4 python horovod_cifar.py --epoch 200 --batchsize 512 --arch ResNet18"""
        },
        ends=("taskrole-0 SUCCEEDED",),
    ),
    "runtime-sshbarrier_test_job.yaml": Expected(
        calls={
            "master-0": """sleep 10
horovodrun -np 4 -H master-0:2,worker-0:2 python pytorch_synthetic_benchmark.py --model resnet50 --batch-size 64"""
        },
        ends=("master-0 SUCCEEDED", "worker-0 STOPPED"),
    ),
    "guide-prerequisites.yaml": Expected(
        calls={
            "taskrole-0": """apt update
apt install -y git
mkdir -p /dataset/covid-19
git clone https://github.com/ieee8023/covid-chestxray-dataset.git /dataset/covid-19
ls -la /dataset/covid-19"""
        },
        ends=("taskrole-0 SUCCEEDED",),
    ),
    "runtime-cmd_with_callbacks_test_job.yaml": Expected(
        calls={"worker-0": CIFAR_CALLS}, ends=("worker-0 SUCCEEDED",), printed="Commands start ...\n"
    ),
    "runtime-cmd_with_prerequisites_test_job.yaml": Expected(
        calls={"worker-0": CIFAR_CALLS}, ends=("worker-0 SUCCEEDED",), printed="Commands start ...\n"
    ),
    "pytorch.mnist.json": Expected(calls={}, ends=("main-0 FAILED",), status=1),
    "trailing-comma-test_all_examples.json": Expected(
        calls={"main-0": "git clone https://github.com/Microsoft/pai.git"},
        ends=("main-0 FAILED",),
        folders="pai",
        status=127,
    ),
    "tensorflow.cifar10.json": Expected(
        calls={
            "cifar_train-0": """git clone https://github.com/tensorflow/models
python download_and_convert_data.py --dataset_name=cifar10 --dataset_dir=/tmp/data
python train_image_classifier.py --batch_size=64 --model_name=inception_v3 --dataset_name=cifar10 \
--dataset_split_name=train --dataset_dir=/tmp/data --train_dir=/tmp/output"""
        },
        ends=("cifar_train-0 SUCCEEDED",),
        folders="models/research/slim",
        environment={"PAI_DATA_DIR": "/tmp/data", "PAI_CURRENT_TASK_ROLE_CPU_COUNT": "8", "PAI_CODE_DIR": ""},
    ),
    "jupyter.json": Expected(
        calls={
            "jupyter-0": """python3 -m pip install -q jupyter matplotlib
wget -O mnist.ipynb \
https://raw.githubusercontent.com/ianlewis/tensorflow-examples/master/notebooks/TensorFlow%20MNIST%20tutorial.ipynb
jupyter notebook --allow-root --no-browser --ip 0.0.0.0 --port=PORT --NotebookApp.token= \
--NotebookApp.allow_origin=* --NotebookApp.base_url=/jupyter"""
        },
        ends=("jupyter-0 SUCCEEDED",),
        environment={"PAI_PORT_LIST_jupyter_0_jupyter": "PORT"},
    ),
}  # fmt: skip


def same(text: str, job: Submitted) -> str:
    """Return a text with words for what differs from run to run."""
    text = re.sub(rf"{re.escape(str(job.attempt / 'work'))}/[^/\s]+/\d+", "WORK", text)
    text = re.sub(ADDRESS, "ADDRESS", text)
    return re.sub(r"(?<=ADDRESS:)\d{5}\b|(?<=--port=)\d{5}\b|^\d{5}$", "PORT", text)


def lines(calls: str) -> list[list[str]]:
    """Return calls as words; the two ends of a pipe come in any order, so that tar goes last."""
    words = [shlex.split(line) for line in calls.splitlines()]
    return sorted(words, key=lambda call: call[0] == "tar")


def test_every_published_file_is_run_or_listed_as_not_run(published: Path) -> None:
    files = {path.name for path in published.glob("v[12]/*.*")}
    assert files == RUN.keys() | RUN_ELSEWHERE.keys() | NOT_RUN.keys()


def test_published_jobs_run_their_expected_commands(installed: Cluster, workdir: Path, published: Path) -> None:
    programs = dict.fromkeys(PROGRAMS, STANDIN)
    jobs = {}
    for name, expected in RUN.items():
        # The images of some set PYTHONPATH, and their commands rely on that.
        environment = {"PYTHONPATH": "", "STANDIN_FOLDERS": expected.folders}
        folder = folder_of_alice(workdir / Path(name).stem)
        (file,) = published.glob(f"v[12]/{name}")
        jobs[name] = submit_published(installed, file, folder, programs, env=environment)
    for name, job in jobs.items():
        expected = RUN[name]
        code, result = job.ended()
        failed = expected.status != 0
        assert (name, code, result["outcome"]) == (name, int(failed), "failed" if failed else "succeeded")
        assert (name, *states(result)) == (name, *expected.ends)
        if failed:
            assert (name, result["tasks"][0]["exit_status"]) == (name, expected.status)
            assert "No such file or directory" in job.log(f"0-{result['tasks'][0]['role']}/0", "stderr.log")
        if expected.printed is not None:
            assert (name, job.log(f"0-{result['tasks'][0]['role']}/0")) == (name, expected.printed)
        for task, wanted in expected.calls.items():
            log = job.folder / "log"
            calls = lines(same((log / f"{task}.calls").read_text(), job))
            assert (name, calls) == (name, lines(wanted))
            environment = dict(line.split("=", 1) for line in (log / f"{task}.env").read_text().splitlines())
            found = {variable: same(environment[variable], job) for variable in expected.environment}
            assert (name, found) == (name, expected.environment)


@pytest.fixture
def storage(installed: Cluster, workdir: Path) -> Iterator[Path]:
    """A storage that all hosts have as /mnt/confignfs."""
    require_privilege("a mount")
    folder = folder_of_alice(workdir / "mnt")
    confignfs = folder_of_alice(folder / "confignfs")
    folder_of_alice(confignfs / "mnist500_result")
    for host in installed.hosts:
        installed.run(["mount", "--bind", str(folder), "/mnt"], user="root", host=host, cwd=Path("/"), check=True)
    yield confignfs
    for host in installed.hosts:
        installed.run(["umount", "--lazy", "/mnt"], user="root", host=host, cwd=Path("/"), check=True)


def test_job_of_501_tasks_runs_on_64_cpus(installed: Cluster, workdir: Path, published: Path, storage: Path) -> None:
    """CPU_500Task_MNIST.yaml: 501 tasks of a CPU each take turns on 64, and leave their results on a storage."""
    names = ("apt-get", "jupyter", "mount", "python", "wget")
    site = SITE.read_text() + ONE_ATTEMPT + "storages: {confignfs: {path: /mnt/confignfs}}\n"
    file = published / "v2" / "CPU_500Task_MNIST.yaml"
    job = submit_published(installed, file, workdir, dict.fromkeys(names, MNIST), site=site)
    code, result = job.ended(timeout=240)
    failed = [task for task in result["tasks"] if task["state"] != "SUCCEEDED"]
    assert failed == [], "".join(path.read_text() for path in job.attempt.glob("logs/*/*.stderr.log"))
    assert (code, result["reason"], len(result["tasks"])) == (0, "all 501 tasks have succeeded", 501)
    assert (storage / "collected").read_text().split() == [str(index) for index in range(500)]
    assert len(list((storage / "mnist500_result").iterdir())) == 500
    assert {task["node"] for task in result["tasks"]} == {"n1", "n2", "n3", "n4"}
    (row,) = (row for row in installed.sacct(result["job_id"]) if row["JobIDRaw"] == result["job_id"])
    assert "cpu=64," in row["AllocTRES"] + ","
