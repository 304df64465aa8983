"""The GPUs of partitions, which of them are free, and what jobs that wait ask for, as sinfo and squeue say. Pure."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct, field

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
"""Words of a state in which no other job can have the node now: out of order, without an answer (`idle*`), or kept for
some. Source: sinfo(1), NODE STATE CODES."""
_NO_CPU = "alloc"
"""How the state of a node begins whose CPUs are all taken."""


class GpuType(Struct, frozen=True, kw_only=True):
    """Count the GPUs of one type, "" for those without; `free` are those that a job could have now."""

    name: str
    total: int
    free: int


class FreeNode(Struct, frozen=True, kw_only=True):
    """Hold what no job has of a node that is in order, memory in MiB; generic resources by name and type.

    `is_empty` tells that no job has a CPU of it.
    """

    name: str
    cpus: int
    memory_mib: int
    gres: Mapping[tuple[str, str], int]
    is_empty: bool


class Pool(Struct, frozen=True, kw_only=True):
    """Count the GPUs of a partition. `state` is `up`, or why it starts no jobs.

    `away_nodes` are out of order or reserved, `away` are the GPUs on them. `stranded` are GPUs that no job has, on
    nodes whose CPUs are all taken. Jobs that wait and ask for GPUs are counted once with all their components; those
    that cannot start as they are do not count. `free_nodes` have a CPU left.
    """

    partition: str
    is_default: bool = False
    state: str = UP
    nodes: int = 0
    away_nodes: int = 0
    away: int = 0
    stranded: int = 0
    types: tuple[GpuType, ...] = field(default_factory=tuple)
    waiting_jobs: int = 0
    waiting_gpus: int = 0
    free_nodes: tuple[FreeNode, ...] = ()

    @property
    def total(self) -> int:
        """All GPUs."""
        return sum(each.total for each in self.types)

    @property
    def free(self) -> int:
        """The GPUs that a job could have now: no other has them, and their nodes have CPUs and are in order."""
        return sum(each.free for each in self.types)

    def as_dict(self) -> dict[str, object]:
        """Return the record for `--json`."""
        return {
            "partition": self.partition,
            "partition_state": self.state,
            "partition_node_count": self.nodes,
            "unavailable_node_count": self.away_nodes,
            "gpu_count": self.total,
            "free_gpu_count": self.free,
            "unavailable_gpu_count": self.away,
            "stranded_gpu_count": self.stranded,
            "gpu_types": [
                {"gpu_type": each.name or None, "gpu_count": each.total, "free_gpu_count": each.free}
                for each in self.types
            ],
            "waiting_job_count": self.waiting_jobs,
            "waiting_gpu_count": self.waiting_gpus,
        }


class _Count:
    """Count the nodes and GPUs of one partition as they are read."""

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
    """Return the partitions in the order in which sinfo has them, each once; Slurm calls the GPUs `gres_name`."""
    counts: dict[str, _Count] = {}
    for node in _rows(nodes, NODE_COLUMNS):
        counts.setdefault(node["Partition"].rstrip("*"), _Count()).add(node, gres_name)
    jobs = list(_waiting(waiting, gres_name))
    return tuple(_pool(name, count, jobs) for name, count in counts.items())


def _pool(name: str, count: _Count, jobs: Sequence[tuple[str, tuple[str, ...], int]]) -> Pool:
    asks = [(job, gpus) for job, partitions, gpus in jobs if name in partitions]
    types = (GpuType(name=each, total=total, free=count.free[each]) for each, total in sorted(count.total.items()))
    return Pool(
        partition=name,
        is_default=count.is_default,
        state=count.state,
        nodes=count.nodes,
        away_nodes=count.away_nodes,
        away=count.away,
        stranded=count.stranded,
        types=tuple(types),
        waiting_jobs=len({job for job, _ in asks}),
        waiting_gpus=sum(gpus for _, gpus in asks),
        free_nodes=tuple(count.free_nodes) if count.state == UP else (),
    )


def _free_node(node: Mapping[str, str]) -> FreeNode:
    """Return what is free of a node: `CPUsState` has its CPUs as `allocated/idle/other/total`."""
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
    """Return what stands in `gpu:v100:4(S:0-1),hca:2` or `gpu:(null):1(IDX:0)`, by name and type."""
    found: Counter[tuple[str, str]] = Counter()
    for each in () if text in NOTHING else gres(text):
        if each.count:
            found[each.name, each.type] += each.count
    return found


def _waiting(text: str, gres_name: str) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Yield for each job, or component, that asks for GPUs and can start some day: its job, partitions and GPUs."""
    total, asked = _patterns(gres_name)
    for row in _rows(text, WAITING_COLUMNS):
        counted = total.search(row["tres-alloc"])
        gpus = int(counted[1]) if counted else _asked(row, asked)
        if gpus and explained(row["Reason"]).kind != "stuck":
            yield row["JobArrayID"].partition("+")[0], tuple(row["Partition"].split(",")), gpus


@cache
def _patterns(gres_name: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds the GPUs of a whole job, and those of a part of it.

    These are `gres:gpu:v100:3` (22.05), `gres/gpu:v100:3` and `gres/gpu=2` (24.11, 26.05); without a number it is one.
    """
    name = re.escape(gres_name)
    part = rf"(?:^|,)gres[:/]{name}(?:[:/][^:=,\d][^:=,]*)?(?:[:=](\d{{1,15}}))?(?=,|$)"
    return re.compile(rf"(?:^|,)gres/{name}=(\d{{1,15}})(?!\d)"), re.compile(part)


def _asked(row: dict[str, str], pattern: re.Pattern[str]) -> int:
    """Return the GPUs of a job by those of its nodes, of itself or of its tasks: where the site counts none."""
    nodes, tasks = number(row["NumNodes"]) or 1, number(row["NumTasks"]) or 1
    each = (("tres-per-node", nodes), ("tres-per-job", 1), ("tres-per-task", tasks))
    return max(times * sum(int(found[1] or 1) for found in pattern.finditer(row[column])) for column, times in each)


def _rows(text: str, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the lines that have these columns; `CLUSTER: far` stands above those of another cluster."""
    for line in text.splitlines():
        values = re.split(r"\s*\|", line.strip(), maxsplit=len(columns))
        if len(values) == len(columns) + 1:
            yield dict(zip(columns, map(str.strip, values), strict=False))
