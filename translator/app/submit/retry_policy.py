"""The policy that goes into a job's journal: what the job asks for, within what the site allows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ...state.records import RetryPolicy

if TYPE_CHECKING:
    from ...pipeline import Compiled
    from ...planning.plan import Plan
    from ...site.profile import Site


def retry_policy(compiled: Compiled) -> RetryPolicy:
    """Return how a job is retried."""
    retry = compiled.site.retry
    return RetryPolicy(
        retry_limit=compiled.job.retry_limit,
        max_transient_retries=retry.max_transient_retries,
        max_restarts=retry.most_restarts,
        on_timeout=compiled.job.slurm_options.on_timeout,
        on_root_cancel=retry.on_root_cancel,
        spare_nodes=spare_nodes(compiled.plan, compiled.site),
    )


def spare_nodes(plan: Plan, site: Site) -> int | None:
    """Return how many nodes an attempt can leave out and still start, None where sbatch itself would refuse it.

    A job of several components that finds too few nodes is not refused: it stays pending for ever. So where the
    nodes are not known, such a job leaves none out. Source: observed on Slurm 22.05 and 24.11.
    """
    wanted: Counter[str | None] = Counter()
    for component in plan.components:
        wanted[dict(component.directives).get("partition")] += component.nodes or 0
    partitions = {name: site.partition(name) for name in wanted}
    known = {name: partition.node_count for name, partition in partitions.items() if partition is not None}
    if all(known.get(name) for name in wanted) and all(component.nodes for component in plan.components):
        return max(0, min(known[name] - nodes for name, nodes in wanted.items()))
    return None if len(plan.components) == 1 else 0
