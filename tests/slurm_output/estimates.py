"""What a real Slurm says of starts, on the test cluster: cases for `record.py`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from tests.cluster.processes import wait_until

from paislurm.backends.slurm.expected_start import ask_start
from paislurm.translator.errors import BackendError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.slurm_output.record import Case

GPU = "#SBATCH --nodes=1 --ntasks=1 --mem=100 --gres=gpu:1 --partition="
WATCHED = "#SBATCH --nodes=2 --ntasks=2 --mem=100 --partition=watched\n"


def idle(case: Case) -> None:
    _ask(case, f"{GPU}pair\n", "pair")


def default(case: Case) -> None:
    """Ask for a job that names no partition, at a site whose default one nobody has named."""
    _ask(case, "#SBATCH --nodes=1 --mem=100\n")


def busy(case: Case) -> None:
    """Fill a partition of two nodes, of which one has a CPU left, and let five jobs wait, one of them held."""
    running = [_put(case, f"--partition=pair --ntasks={tasks} --nodes=1 --gres=gpu:v100:3") for tasks in (16, 15)]
    wait_until(lambda: all(case.is_running(each) for each in running), "jobs to run")
    for options in (
        "--partition=pair --nodes=2 --gres=gpu:1",
        "--partition=pair,watched --nodes=2 --ntasks=4 --gpus-per-task=2 --nodelist=n1,n2",
        "--partition=pair --gpus=3 --array=1-2",
        "--partition=pair --gres=gpu:2 --hold",
    ):
        _put(case, options)
    case.recording.clear()
    _ask(case, f"{GPU}pair\n#SBATCH hetjob\n{WATCHED}", "pair", "watched")
    case.cluster.cancel_all()


def preempts(case: Case) -> None:
    running = _put(case, "--partition=spot --nodes=1 --ntasks=16 --gres=gpu:2")
    wait_until(lambda: case.is_running(running), "a job to run")
    case.recording.clear()
    _ask(case, "#SBATCH --ntasks=16 --nodes=1 --mem=100 --partition=urgent\n", "urgent")
    case.cluster.cancel_all()


def drained(case: Case) -> None:
    case.cluster.admin(["scontrol", "update", "nodename=n6", "state=drain", "reason=test"])
    try:
        _ask(case, WATCHED, "watched")
    finally:
        case.cluster.admin(["scontrol", "update", "nodename=n6", "state=resume"])


def closed(case: Case) -> None:
    case.cluster.admin(["scontrol", "update", "partitionname=watched", "state=down"])
    try:
        _ask(case, f"{GPU}watched\n", "watched")
    finally:
        case.cluster.admin(["scontrol", "update", "partitionname=watched", "state=up"])


def impossible(case: Case) -> None:
    _ask(case, "#SBATCH --nodes=1 --mem=100 --partition=pair --gres=gpu:9\n", "pair")


def refused(case: Case) -> None:
    _ask(case, "#SBATCH --nodes=1 --mem=100 --account=nosuch\n", "pair")


CASES = {
    f"estimate_{case.__name__}": case for case in (idle, default, busy, preempts, drained, closed, impossible, refused)
}
"""Run on each Slurm: `--slurm 26.05 estimate_busy`."""


def _ask(case: Case, directives: str, *partitions: str) -> None:
    with suppress(BackendError):
        ask_start(case.runner, f"#!/bin/bash\n{directives}true\n", partitions)


def _put(case: Case, options: str) -> str:
    words: Sequence[str] = ["sbatch", "--parsable", "--mem=100", "--time=100", *options.split()]
    return str(case.cluster.run(words, stdin="#!/bin/bash\nsleep 600\n", check=True).stdout.strip())
