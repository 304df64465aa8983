"""The output of `submit --test-only` and `plan --test-only`: the expected start of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paislurm.backends.base import LOCAL

from ...app.submit.after import text_of
from ...times import duration_text, format_time
from .console import log, print_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...app.estimate.estimate import Estimate


def print_estimate(found: Estimate) -> None:
    """Print the expected start of a job."""
    print_result(start_text(found.submitted.job, found))
    if found.submitted.after:
        log(f"it will not be submitted before {text_of(found.submitted.after)}")


def print_layouts(found: Sequence[Estimate]) -> None:
    """Print the expected start of each layout.

    Source: Slurm's documentation, heterogeneous jobs: only the backfill scheduler starts them.
    """
    for each in found:
        layout, said = each.in_layout, ""
        if each.component_count > 1 and each.start.at is not None and each.submitted.backend != LOCAL:
            interval = f" within {layout.backfill_interval} s" if layout.backfill_interval else ""
            said = f"; the start comes with the next run of the backfill scheduler{interval}"
        print_result(start_text(f"layout {layout.layout_kind}", each) + said)


def start_text(name: str, found: Estimate) -> str:
    """Return the expected start of a job, its place, and the source of the estimate."""
    start, seconds = found.start, found.start.seconds_from(found.now)
    if found.submitted.backend == LOCAL:
        return f"{name} would start at once on this machine: the local backend has no queue"
    if start.at is None or seconds is None:
        return f"Slurm cannot estimate when {name} would start: {start.reason}"
    when = f"at {format_time(start.at)} (in {duration_text(seconds)})" if seconds else "at once"
    named = [start.partition] if start.partition else found.partitions
    where = f" in partition{'s' * (len(named) > 1)} {' and '.join(named)}" if named else ""
    said = f"{name} would start {when}{f' on {start.nodes}' if start.nodes else ''}{where} (Slurm's estimate)"
    if start.preempts:
        said += f"; job{'s' * (len(start.preempts) > 1)} {', '.join(start.preempts)} would be preempted"
    if found.component_count > 1:
        said += f"; each of the {found.component_count} components alone: together they may start later"
    return said
