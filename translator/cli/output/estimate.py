"""The output of `submit --test-only` and `plan --test-only`: the expected start of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...times import duration_text, format_time
from .console import log, print_result

LOCAL = "local"
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...app.submit.forecast import LayoutStart, StartEstimate


def print_estimate(found: StartEstimate) -> None:
    """Print the expected start of a job."""
    print_result(start_text(found.job, found))
    if found.dependencies:
        names = " and ".join(f"{each.name} has {each.until}" for each in found.dependencies)
        log(f"it will not be submitted before {names}")


def print_layouts(layouts: Sequence[LayoutStart]) -> None:
    """Print the expected start of each layout.

    Source: Slurm's documentation, heterogeneous jobs: only the backfill scheduler starts them.
    """
    for each in layouts:
        found, said = each.estimate, ""
        if found.component_count > 1 and found.expected_start_at is not None and found.backend != LOCAL:
            interval = f" within {each.backfill_interval} s" if each.backfill_interval else ""
            said = f"; the start comes with the next run of the backfill scheduler{interval}"
        print_result(start_text(f"layout {each.layout_kind}", found) + said)


def start_text(name: str, found: StartEstimate) -> str:
    """Return the expected start of a job, its place, and the source of the estimate."""
    seconds, preempts = found.expected_wait, found.preempted_jobs
    if found.backend == LOCAL:
        return f"{name} would start at once on this machine: the local backend has no queue"
    if found.expected_start_at is None or seconds is None:
        return f"Slurm cannot estimate when {name} would start: {found.reason}"
    when = (
        f"at {format_time(int(found.expected_start_at.timestamp()))} (in {duration_text(seconds)})"
        if seconds
        else "at once"
    )
    named = [found.expected_partition] if found.expected_partition else found.partitions
    where = f" in partition{'s' * (len(named) > 1)} {' and '.join(named)}" if named else ""
    nodes = f" on {found.expected_nodes}" if found.expected_nodes else ""
    said = f"{name} would start {when}{nodes}{where} (Slurm's estimate)"
    if preempts:
        said += f"; job{'s' * (len(preempts) > 1)} {', '.join(preempts)} would be preempted"
    if found.component_count > 1:
        said += f"; each of the {found.component_count} components alone: together they may start later"
    return said
