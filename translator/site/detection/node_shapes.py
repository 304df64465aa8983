"""Parsing of `scontrol show node` and `show partition`: resources of nodes, and their partitions."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from ...slurm_options import is_plain
from ...times import seconds_of
from ...validation.strict_model import MAX_INT
from ..partitions import GRES_PATTERN, Partition, Shape
from .config import SlurmConfig, memory_limits, number, records

if TYPE_CHECKING:
    from collections.abc import Iterable


_AWAY = frozenset({"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "UNKNOWN"})
_FUTURE = "FUTURE"
_COUNT = re.compile(r"(\d{1,15})([KMGTP]?)", re.ASCII)
_MULTIPLES = {suffix: 1024**power for power, suffix in enumerate(("", "K", "M", "G", "T", "P"))}
_GRES = re.compile(GRES_PATTERN, re.ASCII)
GPU = "gpu"


MAX_THREADS = 8
"""The most threads of a core. Source: POWER8 to POWER10, SMT8."""


class Gres(Struct, frozen=True, kw_only=True):
    """A generic resource of a node, `gpu:v100:4`."""

    name: str
    type: str
    count: int


class Node(Struct, frozen=True, kw_only=True):
    """A node; `shape` describes only this node. `away` says whether it is currently unavailable."""

    name: str
    partitions: tuple[str, ...]
    shape: Shape
    gres: tuple[Gres, ...] = ()
    away: bool = False

    @property
    def gpu_types(self) -> set[str]:
        """The types of its GPUs; "" stands for GPUs without a type."""
        return {each.type for each in self.gres if each.name == GPU}


def nodes(text: str) -> tuple[Node, ...]:
    """Parse the output, without nodes in state FUTURE. Source: scontrol(1), NODES."""
    found = (_node(fields) for fields in records(text, "NodeName") if _FUTURE not in _state(fields))
    amounts = (
        (n, (n.shape.cpus, n.shape.memory_mib, 1 + max(n.shape.gpus_by_type.values(), default=0))) for n in found
    )
    return tuple(node for node, each in amounts if all(0 < number <= MAX_INT for number in each))


def _node(fields: dict[str, str]) -> Node:
    found = gres(fields.get("Gres", ""))
    gpus = [each for each in found if each.name == GPU and each.count]
    numbers: Counter[str] = Counter()
    for each in gpus:
        numbers[each.type if is_plain(each.type) else ""] += each.count
    several = (
        tuple(f"{name}:{number}" for name, number in numbers.items()) if len(numbers) > 1 and "" not in numbers else ()
    )
    shape = Shape.of(
        count=1,
        cpus=number(fields.get("CPUEfctv", "")) or number(fields.get("CPUTot", "")),
        memory_mib=number(fields.get("RealMemory", "")) - number(fields.get("MemSpecLimit", "")),
        gpus=0 if several else sum(numbers.values()),
        gpu_type=next(iter(numbers)) if len(numbers) == 1 else "",
        gpu_types=several,
        threads_per_core=_threads(fields),
        features=_features(fields.get("AvailableFeatures", "")),
        gres=_others(found),
    )
    return Node(
        name=fields["NodeName"],
        partitions=tuple(fields.get("Partitions", "").split(",")),
        shape=shape,
        gres=found,
        away=bool(_state(fields) & _AWAY),
    )


def _features(text: str) -> tuple[str, ...]:
    """Return the features that jobs can request, in alphabetical order; Slurm may change the active ones."""
    return tuple(sorted({word for word in text.split(",") if word and is_plain(word)}))


def _others(found: tuple[Gres, ...]) -> tuple[str, ...] | None:
    """Return the generic resources other than GPUs, each `hca:2`; None if a profile does not accept one of them."""
    texts = [":".join(filter(None, (each.name, each.type, str(each.count)))) for each in found if each.name != GPU]
    return tuple(sorted(texts)) if all(map(_GRES.fullmatch, texts)) else None


def _threads(fields: dict[str, str]) -> int:
    """Return the threads per core, 1 if Slurm counts cores as CPUs. `Sockets` are those of all boards."""
    threads = number(fields.get("ThreadsPerCore", ""))
    cores = number(fields.get("Sockets", "")) * number(fields.get("CoresPerSocket", ""))
    counts_threads = 0 < threads <= MAX_THREADS and cores and number(fields.get("CPUTot", "")) >= cores * threads
    return threads if counts_threads else 1


def _state(fields: dict[str, str]) -> set[str]:
    """Return the words of a state such as `DOWN*+DRAIN` or `IDLE+CLOUD+POWERED_DOWN`."""
    return set(re.findall(r"[A-Z_]+", fields.get("State", "")))


def gres(text: str) -> tuple[Gres, ...]:
    """Parse `gpu:a100:4(S:0-1),hca:2`. Source: slurm.conf(5), Gres; scontrol adds the sockets."""
    items = re.sub(r"\([^)]*\)", "", text).split(",")
    return tuple(_gres(item.split(":")) for item in items if item)


def counted(text: str) -> int | None:
    """Return a count such as `4` or `2T`, None for any other text."""
    found = _COUNT.fullmatch(text)
    return int(found[1]) * _MULTIPLES[found[2]] if found else None


def _gres(words: list[str]) -> Gres:
    words = [word for word in words if word != "no_consume"]
    count = counted(words[-1]) if len(words) > 1 else None
    types = words[1:-1] if count is not None else words[1:]
    return Gres(name=words[0], type=types[0] if types else "", count=1 if count is None else count)


_ALL = "ALL"
_NO_LIMITS = SlurmConfig()
_MAX_TIME = timedelta(days=3650)
"""Longer limits count as none: the profile does not accept them."""


class PartitionRecord(Struct, frozen=True, kw_only=True):
    """A partition without its nodes; 0 in the numbers that begin with `max` means no bound."""

    name: str
    time_limit: timedelta | None = None
    is_default: bool = False
    is_up: bool = True
    max_cpus: int = 0
    max_memory: int = 0
    max_memory_per_cpu: int = 0
    max_nodes: int = 0
    is_exclusive: bool = False
    requires_reservation: bool = False
    allow_accounts: tuple[str, ...] | None = None
    allow_qos: tuple[str, ...] | None = None


def partition_records(text: str, config: SlurmConfig = _NO_LIMITS) -> tuple[PartitionRecord, ...]:
    """Parse the output, without partitions only for root; limits of memory are those of `config` by default.

    Source: scontrol(1), PARTITIONS; slurm.conf(5), MaxMemPerCPU.
    """
    found = (fields for fields in records(text, "PartitionName") if fields.get("RootOnly") != "YES")
    return tuple(
        PartitionRecord(
            name=fields["PartitionName"],
            time_limit=time_limit(fields.get("MaxTime", "")),
            is_default=fields.get("Default") == "YES",
            is_up=fields.get("State", "UP") == "UP",
            max_cpus=number(fields.get("MaxCPUsPerNode", "")),
            max_memory=per_node,
            max_memory_per_cpu=per_cpu,
            max_nodes=number(fields.get("MaxNodes", "")),
            is_exclusive=fields.get("OverSubscribe") == "EXCLUSIVE",
            requires_reservation=fields.get("ReqResv") == "YES",
            allow_accounts=_allowed(fields.get("AllowAccounts", "")),
            allow_qos=_allowed(fields.get("AllowQos", "")),
        )
        for fields in found
        for per_node, per_cpu in [next(filter(any, (memory_limits(fields), config.memory_limits)), (0, 0))]
    )


def _allowed(text: str) -> tuple[str, ...] | None:
    """Return the names of a list, None for `ALL`. Source: slurm.conf(5), AllowAccounts."""
    names = tuple(name for name in text.split(",") if name)
    return None if not names or names == (_ALL,) or not all(map(is_plain, names)) else names


def time_limit(text: str) -> timedelta | None:
    """Return a limit; None for `UNLIMITED`."""
    try:
        limit = timedelta(seconds=seconds_of(text))
    except (ValueError, OverflowError):
        return None
    return limit if timedelta() < limit <= _MAX_TIME else None


def with_nodes(record: PartitionRecord, nodes: Iterable[Node]) -> Partition:
    """Return the partition with its nodes in groups of equal ones, in Slurm's order."""
    groups = Counter(_bounded(node.shape, record) for node in nodes if record.name in node.partitions)
    shapes = tuple(shape.model_copy(update={"count": count}) for shape, count in groups.items())
    partition = Partition.of(
        nodes=shapes,
        time_limit=record.time_limit,
        max_nodes=record.max_nodes or None,
        allow_accounts=record.allow_accounts,
        allow_qos=record.allow_qos,
        requires_reservation=record.requires_reservation,
        whole_nodes=record.is_exclusive,
    )
    return partition.named(record.name)


def _bounded(shape: Shape, record: PartitionRecord) -> Shape:
    """Return the resources of a node that a job in the partition can use.

    A job that requests more memory than MaxMemPerCPU for each CPU gets more CPUs, and is refused if the node has fewer.
    Source: observed on 22.05 and 24.11.
    """
    cpus = min(shape.cpus, record.max_cpus or shape.cpus)
    bounds = (record.max_memory, cpus * record.max_memory_per_cpu)
    memory = min((shape.memory_mib, *(bound for bound in bounds if bound)))
    return shape.model_copy(update={"cpus": cpus, "memory_mib": memory})
