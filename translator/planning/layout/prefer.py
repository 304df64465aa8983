"""Choice between a component for each role and one allocation for all, if both can start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...plural import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...job import Role
    from .layout import Allocation, Conditions


def prefer(roles: Sequence[Role], het: Allocation, shared: Allocation, conditions: Conditions) -> Allocation:
    """Return the better of two layouts. Its reason says why the other one is worse.

    The criteria in order: safety, the site's preference, roles that differ in the feature for InfiniBand, more tasks
    at a time, no idle GPUs (unless jobs get whole nodes), fewer nodes. At a tie, roles of one size share an
    allocation, because the main scheduler starts it at once. Roles of different sizes get a component each, so that
    nodes need not be larger than a role requires.
    Source: Slurm's documentation, heterogeneous jobs: only the backfill scheduler starts them.
    """
    if conditions.danger:
        return with_reason(shared, conditions.danger)
    if conditions.site_layout:
        return with_reason(het if conditions.site_layout == "het" else shared, "the site prefers it")
    if len(set(conditions.constraints)) > 1:
        return with_reason(het, "the roles need different nodes")
    if sum(shared.slots) > sum(het.slots):
        return with_reason(shared, f"more tasks at a time than with a component for each role ({sum(het.slots)})")
    if (idle := _idle_gpus(roles, shared)) and not conditions.whole_nodes:
        return with_reason(het, f"one allocation for all roles would leave {counted(idle, 'GPU')} idle")
    nodes_of_het, nodes_of_shared = het.node_count, shared.node_count
    if nodes_of_shared < nodes_of_het:
        why = f"{counted(nodes_of_het, 'node')} and the backfill scheduler{_interval_text(conditions)}"
        return with_reason(shared, f"a component for each role would need {why}")
    if nodes_of_het < nodes_of_shared:
        return with_reason(het, f"one allocation for all roles would need {counted(nodes_of_shared, 'node')}")
    if len({role.resources for role in roles}) == 1:
        why = f"would need as many nodes and the backfill scheduler{_interval_text(conditions)}"
        return with_reason(shared, f"a component for each role {why}")
    return with_reason(het, "one allocation for all roles would need as many nodes, each as large as the largest role")


def with_reason(allocation: Allocation, why: str) -> Allocation:
    """Return an allocation whose reason is continued."""
    layout = allocation.layout
    return replace(allocation, layout=replace(layout, reason=f"{layout.reason}; {why}"))


def _idle_gpus(roles: Sequence[Role], shared: Allocation) -> int:
    """Return how many GPUs stay idle in one allocation of equal nodes; components leave none idle."""
    used = sum(role.resources.gpus * slots for role, slots in zip(roles, shared.slots, strict=True))
    return shared.packing.gpus * shared.packing.nodes - used if shared.packing else 0


def _interval_text(conditions: Conditions) -> str:
    interval = conditions.backfill_interval
    return f", which runs every {interval} s" if interval else ""
