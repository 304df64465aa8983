"""Total, free and requested GPUs of partitions, from the output of sinfo and squeue. Pure."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from paislurm.backends.slurm.estimate_commands import NODE_COLUMNS, WAITING_COLUMNS
from paislurm.backends.slurm.reasons import explained

from ...site.detection.config import NOTHING, number
from ...site.detection.nodes import GPU, gres

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

UP = "up"
_NOT_TO_HAVE = re.compile(
    r"(?<!powered_)(?<!powering_)down|drain|fail|err|unk|maint|reserved|reboot|inval|block|future|\*"
)
"""Words of states in which no other job can use the node: unavailable, not responding (`idle*`), or reserved for
some. Source: sinfo(1), NODE STATE CODES."""
_NO_CPU = "alloc"
"""The prefix of the state of a node without free CPUs."""


class FreeNode(Struct, frozen=True, kw_only=True):
    """Free resources of a healthy node: memory in MiB, generic resources by name and type.

    `is_empty` is whether no job uses a CPU of it.
    """

    name: str
    cpus: int
    memory_mib: int
    gres: Mapping[tuple[str, str], int]
    is_empty: bool


class GpuCount(Struct, frozen=True, kw_only=True):
    """The GPUs of one type."""

    gpu_type: str | None
    """The type; None if Slurm has none."""
    gpu_count: int
    """The total number."""
    free_gpu_count: int
    """The number that a job could get now."""


class PartitionGpus(Struct, frozen=True, kw_only=True):
    """A partition with its nodes and GPUs, and the jobs that wait for its GPUs."""

    partition: str
    """The name of the partition."""
    partition_state: str
    """`up`, or the state in which the partition starts no jobs."""
    partition_node_count: int
    """The number of nodes."""
    unavailable_node_count: int
    """The number of unavailable or reserved nodes."""
    gpu_count: int
    """The total number of GPUs."""
    free_gpu_count: int
    """The number of GPUs that a job could get now: unused, on healthy nodes with free CPUs."""
    unavailable_gpu_count: int
    """The number of GPUs on unavailable or reserved nodes."""
    stranded_gpu_count: int
    """The number of unused GPUs on nodes without free CPUs."""
    gpu_types: tuple[GpuCount, ...]
    """The GPUs by type."""
    waiting_job_count: int
    """The number of waiting jobs that request GPUs and can start, as far as the user can see them."""
    waiting_gpu_count: int
    """The number of GPUs that waiting jobs request."""


class Pool(NamedTuple):
    """A partition with its GPUs; `free_nodes` are healthy and have a free CPU, none if it starts no jobs.

    A waiting job counts once with all its components.
    """

    gpus: PartitionGpus
    is_default: bool
    free_nodes: tuple[FreeNode, ...]

    @property
    def name(self) -> str:
        """The name of the partition."""
        return self.gpus.partition


class _Count:
    """Counters for the nodes and GPUs of one partition."""

    def __init__(self) -> None:
        self.is_default = False
        self.state = UP
        self.nodes = self.away_nodes = self.away = self.stranded = 0
        self.total: Counter[str] = Counter()
        self.free: Counter[str] = Counter()
        self.free_nodes: list[FreeNode] = []

    def add(self, node: dict[str, str], gres_name: str) -> None:
        self.is_default = self.is_default or node["Partition"].endswith("*")
        self.state = node["Available"].lower() or UP
        has, used = _gpus(node["Gres"], gres_name), _gpus(node["GresUsed"], gres_name)
        state = node["StateLong"].lower()
        is_away = _NOT_TO_HAVE.search(state) is not None
        self.nodes += 1
        self.away_nodes += is_away
        self.total += has
        if is_away:
            self.away += has.total()
        elif state.startswith(_NO_CPU):
            self.stranded += (has - used).total()
        else:
            self.free += has - used
            self.free_nodes.append(_free_node(node))


def pools(nodes: str, waiting: str = "", gres_name: str = GPU) -> tuple[Pool, ...]:
    """Return the partitions in the order of sinfo, each once; `gres_name` is Slurm's name of GPUs."""
    counts: dict[str, _Count] = {}
    for node in _rows(nodes, NODE_COLUMNS):
        counts.setdefault(node["Partition"].rstrip("*"), _Count()).add(node, gres_name)
    jobs = list(_waiting(waiting, gres_name))
    return tuple(_pool(name, count, jobs) for name, count in counts.items())


def _pool(name: str, count: _Count, jobs: Sequence[tuple[str, tuple[str, ...], int]]) -> Pool:
    asks = [(job, gpus) for job, partitions, gpus in jobs if name in partitions]
    gpus = PartitionGpus(
        partition=name,
        partition_state=count.state,
        partition_node_count=count.nodes,
        unavailable_node_count=count.away_nodes,
        gpu_count=count.total.total(),
        free_gpu_count=count.free.total(),
        unavailable_gpu_count=count.away,
        stranded_gpu_count=count.stranded,
        gpu_types=tuple(
            GpuCount(gpu_type=each or None, gpu_count=total, free_gpu_count=count.free[each])
            for each, total in sorted(count.total.items())
        ),
        waiting_job_count=len({job for job, _ in asks}),
        waiting_gpu_count=sum(gpus for _, gpus in asks),
    )
    return Pool(gpus, count.is_default, tuple(count.free_nodes) if count.state == UP else ())


def _free_node(node: Mapping[str, str]) -> FreeNode:
    """Return the free resources of a node: `CPUsState` contains `allocated/idle/other/total`."""
    allocated, idle, *_ = (*map(number, node["CPUsState"].split("/")), 0, 0)
    return FreeNode(
        name=node["NodeList"],
        cpus=idle,
        memory_mib=max(0, number(node["Memory"]) - number(node["AllocMem"])),
        gres=_counts(node["Gres"]) - _counts(node["GresUsed"]),
        is_empty=not allocated,
    )


def _gpus(text: str, gres_name: str) -> Counter[str]:
    """Return the GPUs of a node by type."""
    return Counter({kind: count for (name, kind), count in _counts(text).items() if name == gres_name})


def _counts(text: str) -> Counter[tuple[str, str]]:
    """Parse `gpu:v100:4(S:0-1),hca:2` or `gpu:(None):1(IDX:0)` to counts by name and type."""
    found: Counter[tuple[str, str]] = Counter()
    for each in () if text in NOTHING else gres(text):
        if each.count:
            found[each.name, each.type] += each.count
    return found


def _waiting(text: str, gres_name: str) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Yield the job, the partitions and the GPUs of each waiting job or component that requests GPUs and can start."""
    total, asked = _patterns(gres_name)
    for row in _rows(text, WAITING_COLUMNS):
        counted = total.search(row["tres-alloc"])
        gpus = int(counted[1]) if counted else _asked(row, asked)
        if gpus and explained(row["Reason"]).kind != "stuck":
            yield row["JobArrayID"].partition("+")[0], tuple(row["Partition"].split(",")), gpus


@cache
def _patterns(gres_name: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns for the GPUs of a whole job, and for those of a part of it.

    These are `gres:gpu:v100:3` (22.05), `gres/gpu:v100:3` and `gres/gpu=2` (24.11, 26.05); without a number it is one.
    """
    name = re.escape(gres_name)
    part = rf"(?:^|,)gres[:/]{name}(?:[:/][^:=,\d][^:=,]*)?(?:[:=](\d{{1,15}}))?(?=,|$)"
    return re.compile(rf"(?:^|,)gres/{name}=(\d{{1,15}})(?!\d)"), re.compile(part)


def _asked(row: dict[str, str], pattern: re.Pattern[str]) -> int:
    """Return the GPUs of a job by its nodes, the job or its tasks, for a site that does not count GPUs."""
    nodes, tasks = number(row["NumNodes"]) or 1, number(row["NumTasks"]) or 1
    each = (("tres-per-node", nodes), ("tres-per-job", 1), ("tres-per-task", tasks))
    return max(times * sum(int(found[1] or 1) for found in pattern.finditer(row[column])) for column, times in each)


def _rows(text: str, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the lines with these columns; a line `CLUSTER: far` precedes those of another cluster."""
    for line in text.splitlines():
        values = re.split(r"\s*\|", line.strip(), maxsplit=len(columns))
        if len(values) == len(columns) + 1:
            yield dict(zip(columns, map(str.strip, values), strict=False))
