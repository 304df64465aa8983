"""The expected start of a job in each layout that it can have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ...planning.layout.layout import LayoutKind
from ...planning.plan import Plan
from ...planning.planner import plan
from .estimate import estimate, estimate_of
from .start import StartEstimate

if TYPE_CHECKING:
    from ...pipeline import Compiled
    from ..input.source import Source
    from ..session import Session
    from .estimate import Estimate


class LayoutStart(Struct, frozen=True, kw_only=True):
    """The expected start of a job in one layout."""

    layout_kind: LayoutKind
    """`plain`, `het` or `shared`."""
    node_count: int | None
    """The number of nodes; None if unknown."""
    backfill_interval: int | None
    """Only the backfill scheduler starts the layout `het`: the seconds between its runs, None if unknown."""
    estimate: StartEstimate
    """Slurm's estimate."""


class LayoutStarts(Struct, frozen=True, kw_only=True):
    """The plan of a job, and the expected start of each layout that the job can have, the chosen one first."""

    plan: Plan
    """The plan."""
    layouts: tuple[LayoutStart, ...]
    """The layouts that can start."""


def estimate_layouts(session: Session, source: Source) -> tuple[Plan, tuple[Estimate, ...]]:
    """Return the plan of a job, and an estimate for each layout that can start, the chosen one first.

    Nothing is submitted. Raises BackendError like a submit.
    """
    found = estimate(session, source)
    compiled = found.submitted.compiled
    other = compiled.plan.layout.other
    if other is None or other.why_not:
        return compiled.plan, (found,)
    submitted = replace(found.submitted, compiled=_in_layout(compiled, other.kind))
    return compiled.plan, (found, estimate_of(session, submitted, source))


def _in_layout(compiled: Compiled, kind: LayoutKind) -> Compiled:
    """Return a job as it would be if its file requested this layout."""
    job = replace(compiled.job, slurm_options=replace(compiled.job.slurm_options, layout=kind))
    planned = compiled.plan
    return replace(compiled, job=job, plan=plan(job, compiled.site, source=planned.source, version=planned.version))


def backfill_interval(found: Estimate) -> int | None:
    """Return the seconds between runs of the backfill scheduler if it must start the job, None if unknown or not."""
    compiled = found.submitted.compiled
    return compiled.site.scheduler.backfill_interval if compiled.plan.layout.kind == "het" else None


def layout_starts(planned: Plan, found: tuple[Estimate, ...]) -> LayoutStarts:
    """Return the record of estimates for JSON."""
    return LayoutStarts(
        plan=planned,
        layouts=tuple(
            LayoutStart(
                layout_kind=each.submitted.compiled.plan.layout.kind,
                node_count=each.submitted.compiled.plan.layout.node_count,
                backfill_interval=backfill_interval(each),
                estimate=each.record,
            )
            for each in found
        ),
    )
