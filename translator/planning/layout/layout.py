"""What a layout is, and what its nodes must have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from .capacity import Nodes
from .packing import Packing

if TYPE_CHECKING:
    from ...site.partitions import Partition

LayoutKind = Literal["plain", "het", "shared"]


class Layout(Struct, frozen=True, kw_only=True):
    """Say how roles become components, and why.

    `plain` is a job of one role; `het` has a component for each role; `shared` is one allocation for all roles.
    """

    kind: LayoutKind
    reason: str


class Conditions(Struct, frozen=True, kw_only=True):
    """Hold what counts for the layout beside a job's own words. By role: types of GPUs, and features of nodes.

    `gpus_by_node` says, by role, whether Slurm cannot count the GPUs by task. `all_partitions` are those of the site,
    of which messages name the ones that would hold a role. `alike` is false where the roles ask for different nodes or
    accounts, which one allocation cannot have. `danger` says what speaks against a component for each role,
    `no_components` why Slurm never starts such a job.
    """

    batch_memory_mib: int
    gpu_types: tuple[str, ...]
    constraints: tuple[str, ...]
    gpus_by_node: tuple[bool, ...]
    all_partitions: tuple[Partition, ...]
    alike: bool
    danger: str
    no_components: str


class Allocation(Struct, frozen=True, kw_only=True):
    """Hold the layout, the slots of each role, and where they go: nodes by role, or one packing of all.

    `nodes_known` is false where nobody says what nodes there are: whether there are enough is not known.
    """

    layout: Layout
    slots: tuple[int, ...]
    nodes: tuple[Nodes | None, ...]
    packing: Packing | None = None
    nodes_known: bool = True
