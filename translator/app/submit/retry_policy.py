"""The retry policy in a job's journal: the job's settings within the site's limits; the bad nodes that it avoids."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ...state.history import History
from ...state.records import RetryPolicy
from ..nodes import ledger

if TYPE_CHECKING:
    from ...pipeline import Compiled
    from ...planning.plan import Plan
    from ...site.profile import Site
    from ..session import Session


def retry_policy(compiled: Compiled) -> RetryPolicy:
    """Return the retry policy of a job."""
    retry, default = compiled.site.retry, compiled.site.avoid_nodes
    avoid_s, avoid_most = compiled.job.slurm_options.avoid_nodes or (default.limits if default else (0, 0))
    return RetryPolicy(
        retry_limit=compiled.job.retry_limit,
        max_transient_retries=retry.max_transient_retries,
        max_restarts=retry.most_restarts,
        on_timeout=compiled.job.slurm_options.on_timeout,
        on_root_cancel=retry.on_root_cancel,
        spare_nodes=spare_nodes(compiled.plan, compiled.site),
        avoid_s=avoid_s,
        avoid_most=avoid_most,
    )


def nodes_to_avoid(session: Session, compiled: Compiled, backend: str) -> tuple[str, ...]:
    """Return the bad nodes that a submit of a job to this backend would avoid now."""
    cluster = compiled.plan.slurm.cluster
    known = History(retry_policy=retry_policy(compiled), backend=backend, tag=f"@{cluster}" if cluster else "")
    return known.excluded_nodes(session.now(), ledger(session).read(known))


def spare_nodes(plan: Plan, site: Site) -> int | None:
    """Return how many nodes an attempt can exclude and still start, None if sbatch itself would reject it.

    sbatch does not reject a job of several components with too few nodes: it stays pending forever. So such a job
    excludes no nodes if the nodes are unknown. Source: observed on Slurm 22.05 and 24.11.
    """
    wanted: Counter[str | None] = Counter()
    for component in plan.components:
        wanted[dict(component.directives).get("partition")] += component.nodes or 0
    partitions = {name: site.partition(name) for name in wanted}
    known = {name: partition.node_count for name, partition in partitions.items() if partition is not None}
    if all(known.get(name) for name in wanted) and all(component.nodes for component in plan.components):
        return max(0, min(known[name] - nodes for name, nodes in wanted.items()))
    return None if len(plan.components) == 1 else 0
