"""What a layout is, and what its nodes must have."""

from __future__ import annotations

from typing import Literal

from ...lazy import dataclass

LayoutKind = Literal["plain", "het", "shared"]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Say how roles become components, and why.

    `plain` is a job of one role; `het` has a component for each role; `shared` is one allocation for all roles.
    """

    kind: LayoutKind
    reason: str


@dataclass(frozen=True, kw_only=True)
class Overheads:
    """Hold what nodes must have beside a job's own words: memory for the batch script; by role type of GPUs, features.

    `gpus_by_node` says, by role, whether Slurm cannot count the GPUs by task.
    """

    batch_memory_mib: int
    gpu_types: tuple[str, ...]
    constraints: tuple[str, ...]
    gpus_by_node: tuple[bool, ...]
