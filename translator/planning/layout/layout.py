"""What a layout is, and what its nodes must have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from ...site.partitions import Partition

LayoutKind = Literal["plain", "het", "shared"]


class Layout(Struct, frozen=True, kw_only=True):
    """Say how roles become components, and why.

    `plain` is a job of one role; `het` has a component for each role; `shared` is one allocation for all roles.
    """

    kind: LayoutKind
    reason: str


class Overheads(Struct, frozen=True, kw_only=True):
    """Hold what nodes must have beside a job's own words: memory for the batch script; by role type of GPUs, features.

    `gpus_by_node` says, by role, whether Slurm cannot count the GPUs by task. `all_partitions` are those of the site,
    of which messages name the ones that would hold a role.
    """

    batch_memory_mib: int
    gpu_types: tuple[str, ...]
    constraints: tuple[str, ...]
    gpus_by_node: tuple[bool, ...]
    all_partitions: tuple[Partition, ...]
