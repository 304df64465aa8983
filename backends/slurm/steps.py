"""What the steps of jobs use, as sstat and sacct tell: CPU time, memory and GPUs of their tasks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from paislurm.translator.times import seconds_of

from .commands import cluster_of, clusters, number_of
from .output import whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..base import JobId

STEP_FIELDS = ("JobID", "NTasks", "AveCPU", "AveRSS", "MaxRSS", "TRESUsageInAve")
"""Source: sstat(1), --format."""

MIB = 1 << 20
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)([KMGTP]?)", re.ASCII)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


class StepUsage(NamedTuple):
    """Say what the tasks of a step use, as Slurm has them: its processes. Memory is in MiB, GPUs in percent.

    `cpu_seconds`, `memory_mib` and those of GPUs are averages; None where Slurm does not gather them.
    """

    tasks: int
    cpu_seconds: int
    memory_mib: int
    max_memory_mib: int
    gpu_percent: int | None
    gpu_memory_mib: int | None


def sstat(ids: Iterable[str]) -> list[str]:
    """Return the query for what the steps of running jobs use, each component by the number that it has as a job.

    Each node takes a sample when it is asked. Of a number and a component, `100+1`, sstat reads the number alone.
    Source: Slurm, jobacct_gather_stat_task; observed on 24.11.
    """
    columns = ",".join(STEP_FIELDS)
    return [
        "sstat",
        "--allsteps",
        "--parsable2",
        "--noheader",
        "--noconvert",
        f"--jobs={','.join(ids)}",
        f"--format={columns}",
    ]


def sacct_steps(ids: Iterable[JobId]) -> list[str]:
    """Return the accounting query for what the steps of jobs of one cluster used, with the name of each step."""
    wanted = sorted(ids)
    numbers, cluster = ",".join(map(number_of, wanted)), cluster_of(wanted[0])
    columns = ",".join(("JobIDRaw", *STEP_FIELDS[1:], "JobName"))
    return [
        "sacct",
        "--parsable2",
        "--noheader",
        "--noconvert",
        f"--jobs={numbers}",
        f"--format={columns}",
        *clusters(cluster),
    ]


def srun_beside(number: str, nodes: Sequence[str], components: Sequence[int], argv: Sequence[str]) -> list[str]:
    """Return what runs a program once on each of some nodes of a job that runs, and takes none of its resources.

    Of a heterogeneous job it runs on every node of `components`, which are none of any other job.
    """
    where = (
        [f"--het-group={','.join(map(str, components))}"]
        if components
        else [f"--nodelist={','.join(nodes)}", f"--nodes={len(nodes)}", f"--ntasks={len(nodes)}"]
    )
    return [
        "srun",
        f"--jobid={number}",
        *where,
        "--ntasks-per-node=1",
        "--overlap",
        "--mem=0",
        "--gres=none",
        "--mpi=none",
        "--cpus-per-task=1",
        "--cpu-bind=none",
        "--quiet",
        "--job-name=top",
        "--chdir=/",
        *argv,
    ]


def step_usages(text: str) -> dict[tuple[int, int], StepUsage]:
    """Return what is known of steps, by the numbers of the job and of the step; nothing of those with no figures."""
    found: dict[tuple[int, int], StepUsage] = {}
    for line in text.splitlines():
        words = line.split("|")
        job, step = _numbers(words[0])
        if len(words) == len(STEP_FIELDS) and job is not None and step is not None:
            _, tasks, cpu, memory, most, tres = words
            usage = _usage(tasks, cpu, memory, most, tres)
            if usage is not None:
                found[job, step] = usage
    return found


def accounted_usages(text: str) -> list[tuple[int, str, StepUsage]]:
    """Return the job number, the name and the usage of steps that sacct knows; nothing of those with no figures.

    A component of a heterogeneous job is a job of its own number.
    """
    found = []
    for line in text.splitlines():
        words = line.split("|", len(STEP_FIELDS))
        job, step = _numbers(words[0])
        if len(words) == len(STEP_FIELDS) + 1 and job is not None and step is not None:
            _, tasks, cpu, memory, most, tres, name = words
            usage = _usage(tasks, cpu, memory, most, tres)
            if usage is not None:
                found.append((job, name, usage))
    return found


def _numbers(word: str) -> tuple[int | None, int | None]:
    """Return the number of a job and that of its step, None for what has none, as `123.batch`."""
    job, _, step = word.partition(".")
    return whole(job), whole(step)


def _usage(tasks: str, cpu: str, memory: str, most: str, tres: str) -> StepUsage | None:
    seconds, used, peak = _seconds(cpu), _number(memory), _number(most)
    # Where nothing is gathered (jobacct_gather/none) the columns are empty, or 0.
    count = whole(tasks)
    if not count or seconds is None or not used:
        return None
    pairs = dict(pair.split("=", 1) for pair in tres.split(",") if "=" in pair)
    gpu, gpu_memory = _number(pairs.get("gres/gpuutil", "")), _number(pairs.get("gres/gpumem", ""))
    return StepUsage(
        tasks=count,
        cpu_seconds=seconds,
        memory_mib=round(used / MIB),
        max_memory_mib=round((peak or used) / MIB),
        gpu_percent=None if gpu is None else round(gpu),
        gpu_memory_mib=None if gpu_memory is None else round(gpu_memory / MIB),
    )


def _seconds(text: str) -> int | None:
    """Return the seconds of a CPU time, which may have a fraction."""
    try:
        return seconds_of(text.partition(".")[0])
    except ValueError:
        return None


def _number(text: str) -> float | None:
    """Return a number, with a unit as sstat has them: `1536M`."""
    found = _SIZE.fullmatch(text)
    return float(found[1]) * 1024 ** _POWERS[found[2]] if found else None
