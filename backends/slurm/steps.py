"""CPU time, memory and GPUs used by the steps of jobs, from sstat and sacct; and the allocations of jobs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from paislurm.translator.times import seconds_of

from .commands import cluster_of, clusters, number_of
from .output import moment, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..base import JobId

STEP_FIELDS = ("JobID", "NTasks", "AveCPU", "AveRSS", "MaxRSS", "TRESUsageInAve")
"""Source: sstat(1), --format."""

MIB = 1 << 20
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)([KMGTP]?)", re.ASCII)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


class StepUsage(NamedTuple):
    """Hold the usage of a step's tasks. Memory is in MiB, GPU use in percent.

    `cpu_seconds`, `memory_mib` and the GPU values are averages; None if Slurm does not gather them.
    """

    tasks: int
    cpu_seconds: int
    memory_mib: int
    max_memory_mib: int
    gpu_percent: int | None
    gpu_memory_mib: int | None


def sstat(ids: Iterable[str]) -> list[str]:
    """Return the query for the steps of running jobs; a component is named by its own job number.

    Each node takes a sample for the query. For `100+1`, sstat reads only the number. Source: Slurm,
    jobacct_gather_stat_task; observed on 24.11.
    """
    jobs, columns = ",".join(ids), ",".join(STEP_FIELDS)
    return ["sstat", "--allsteps", "--parsable2", "--noheader", "--noconvert", f"--jobs={jobs}", f"--format={columns}"]


ACCOUNT_FIELDS = ("JobIDRaw", *STEP_FIELDS[1:], "Start", "End", "ElapsedRaw", "AllocTRES", "NodeList", "JobName")
"""Source: sacct(1), --format."""


class Allocated(NamedTuple):
    """Hold the nodes of a component of a job in one run; `ended` is None while it runs.

    `elapsed` excludes suspension. `cpus` and `gpus` are None if Slurm does not account them (AccountingStorageTRES).
    """

    number: int
    started: int
    ended: int | None
    elapsed: int
    nodes: int
    cpus: int | None
    gpus: int | None
    node_list: str


def sacct_steps(ids: Iterable[JobId], *, steps: bool = True) -> list[str]:
    """Return the accounting query for the allocations of jobs of one cluster, and usage and names of their steps.

    It includes the runs before a requeue. Source: sacct(1), --duplicates.
    """
    wanted = sorted(ids)
    numbers, columns = ",".join(map(number_of, wanted)), ",".join(ACCOUNT_FIELDS)
    return [
        "sacct", *([] if steps else ["--allocations"]), "--duplicates", "--parsable2", "--noheader", "--noconvert",
        f"--jobs={numbers}", f"--format={columns}", *clusters(cluster_of(wanted[0])),
    ]  # fmt: skip


def srun_beside(number: str, nodes: Sequence[str], components: Sequence[int], argv: Sequence[str]) -> list[str]:
    """Return the command that runs a program once on each of some nodes of a running job, using no resources.

    In a heterogeneous job it runs on every node of `components`, which share no node with other jobs.
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
    """Return the usage of steps by job number and step number. Steps without figures are missing."""
    return {(job, step): usage for job, step, usage, _ in _steps(text, STEP_FIELDS)}


def accounted_usages(text: str) -> list[tuple[int, str, StepUsage]]:
    """Return job number, name and usage of steps in the accounts. Steps without figures are missing.

    Each component of a heterogeneous job has its own job number.
    """
    return [(job, name, usage) for job, _, usage, name in _steps(text, ACCOUNT_FIELDS)]


def allocations(text: str) -> list[Allocated]:
    """Return the allocations in the accounts; a job that has not started has none."""
    found = []
    for words in _rows(text, ACCOUNT_FIELDS):
        *times, tres, node_list, _ = words[len(STEP_FIELDS) :]
        counts = {name: whole(count) for name, _, count in (pair.partition("=") for pair in tres.split(","))}
        match whole(words[0]), *map(moment, times), counts.get("node"):
            case [int(number), int(started), ended, int(elapsed), int(nodes)] if nodes:
                amounts = (counts.get("cpu"), counts.get("gres/gpu"))
                found.append(Allocated(number, started, ended, elapsed, nodes, *amounts, node_list))
            case _:
                pass
    return found


def _rows(text: str, fields: Sequence[str]) -> Iterator[list[str]]:
    """Yield the columns of each row; only the last one may contain a `|`."""
    rows = (line.strip().split("|", len(fields) - 1) for line in text.split("\n"))
    return (words for words in rows if len(words) == len(fields))


def _steps(text: str, fields: Sequence[str]) -> Iterator[tuple[int, int, StepUsage, str]]:
    """Yield job number, step number, usage and the last column of each step with figures; not those of `123.batch`."""
    for words in _rows(text, fields):
        job, _, step = words[0].partition(".")
        match whole(job), whole(step), _usage(*words[1 : len(STEP_FIELDS)]):
            case [int(number), int(of_job), StepUsage() as usage]:
                yield number, of_job, usage, words[-1]
            case _:
                pass


def _usage(tasks: str, cpu: str, memory: str, most: str, tres: str) -> StepUsage | None:
    seconds, used, peak = _seconds(cpu), _number(memory), _number(most)
    # With jobacct_gather/none the columns are empty or 0.
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
    """Return a CPU time in seconds, without its fraction."""
    try:
        return seconds_of(text.partition(".")[0])
    except ValueError:
        return None


def _number(text: str) -> float | None:
    """Return a number with a unit as sstat prints it: `1536M`."""
    found = _SIZE.fullmatch(text)
    return float(found[1]) * 1024 ** _POWERS[found[2]] if found else None
