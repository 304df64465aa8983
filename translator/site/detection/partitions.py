"""What `scontrol show partition` says, put together with the nodes that are in each partition."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from ...sbatch_forms import is_plain, seconds_of
from ..partitions import Partition
from .records import number, records

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..partitions import Shape
    from .nodes import Node

_ALL = "ALL"
_MAX_TIME = timedelta(days=3650)
"""A limit above it is none: the profile takes no longer ones."""


class PartitionRecord(Struct, frozen=True, kw_only=True):
    """Describe a partition without its nodes; `max_cpus`, `max_memory` and `max_nodes` are 0 for no bound."""

    name: str
    time_limit: timedelta | None = None
    is_default: bool = False
    is_up: bool = True
    max_cpus: int = 0
    max_memory: int = 0
    max_nodes: int = 0
    allow_accounts: tuple[str, ...] | None = None
    allow_qos: tuple[str, ...] | None = None


def partition_records(text: str) -> tuple[PartitionRecord, ...]:
    """Read the answer, without partitions that are root's alone. Source: scontrol(1), PARTITIONS."""
    found = (fields for fields in records(text, "PartitionName") if fields.get("RootOnly") != "YES")
    return tuple(
        PartitionRecord(
            name=fields["PartitionName"],
            time_limit=time_limit(fields.get("MaxTime", "")),
            is_default=fields.get("Default") == "YES",
            is_up=fields.get("State", "UP") == "UP",
            max_cpus=number(fields.get("MaxCPUsPerNode", "")),
            max_memory=number(fields.get("MaxMemPerNode", "")),
            max_nodes=number(fields.get("MaxNodes", "")),
            allow_accounts=_allowed(fields.get("AllowAccounts", "")),
            allow_qos=_allowed(fields.get("AllowQos", "")),
        )
        for fields in found
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
    """Return the partition with its nodes in groups of equal ones, in the order in which Slurm has them."""
    groups = Counter(_bounded(node.shape, record) for node in nodes if record.name in node.partitions)
    shapes = tuple(shape.model_copy(update={"count": count}) for shape, count in groups.items())
    partition = Partition.of(
        nodes=shapes,
        time_limit=record.time_limit,
        max_nodes=record.max_nodes or None,
        allow_accounts=record.allow_accounts,
        allow_qos=record.allow_qos,
    )
    return partition.named(record.name)


def _bounded(shape: Shape, record: PartitionRecord) -> Shape:
    """Return what a job of the partition can have of such a node."""
    cpus = min(shape.cpus, record.max_cpus or shape.cpus)
    memory = min(shape.memory_mib, record.max_memory or shape.memory_mib)
    return shape.model_copy(update={"cpus": cpus, "memory_mib": memory})
