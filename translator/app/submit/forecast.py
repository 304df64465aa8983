"""Estimate the start of a job if it were submitted now, in its layout or in each that it can have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from paislurm.backends.base import LOCAL
from paislurm.backends.slurm.expected_start import Start, ask_start

from ...errors import Diagnostic, RejectedError
from ...planning.job_plan import Plan
from ...planning.layout.layout import LayoutKind
from ...planning.planner import plan
from ...times import Time, aware
from ...view.parts import JobDependency
from .prepare import prepare
from .refusal_location import located
from .submitting import described

if TYPE_CHECKING:
    from ...pipeline import Compiled
    from ...state.journal_records import Dependency
    from ..input.source import Source
    from ..session import Session
    from .submission import Submitted


class StartEstimate(Struct, frozen=True, kw_only=True):
    """The expected start of a job."""

    job: str
    """The job's name, without the user's."""
    user: str
    """The user who owns the job."""
    name: str
    """The name that the job's folder would have, `user~job`."""
    backend: str
    """`slurm`, `pyslurm`, `local`, or `ssh:` and a login node."""
    task_count: int
    """The number of tasks."""
    dependencies: tuple[JobDependency, ...]
    """The dependencies of the job."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings about the job file."""
    expected_start_at: Time | None
    """When Slurm expects to start the job."""
    expected_wait: int | None
    """The seconds until the start, 0 for at once; None if Slurm has no estimate because of `reason`."""
    at_once: bool
    """Whether the job would start at once."""
    reason: str | None
    """Why Slurm has no estimate."""
    expected_nodes: str | None
    """The nodes on which Slurm expects to start the job, a host list."""
    expected_partition: str | None
    """The partition in which Slurm expects to start the job; None if it names none, as for several components."""
    preempted_jobs: tuple[str, ...]
    """The ids of jobs that would be preempted."""
    component_count: int
    """The number of components; the start is the latest of all components."""
    partitions: tuple[str, ...]
    """The partitions of the job, `a,b` for a component that can use either; none if one is unknown."""


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

    @property
    def plan_text(self) -> str:
        """The plan, for a person."""
        from ...planning.plan_text import plan_text

        return plan_text(self.plan)


def estimate(session: Session, source: Source, after: tuple[Dependency, ...] = ()) -> StartEstimate:
    """Return when a job would start, without checks of its name and its folder's space. Nothing is submitted.

    Raises BackendError like a submit.
    """
    return _estimate_of(session, _prepared(session, source, after), source)


def estimate_layouts(session: Session, source: Source) -> LayoutStarts:
    """Return the plan of a job, and an estimate for each layout that can start, the chosen one first.

    Nothing is submitted. Raises BackendError like a submit.
    """
    submitted = _prepared(session, source, ())
    compiled = submitted.compiled
    found, other = [compiled], compiled.plan.layout.other
    if other is not None and not other.why_not:
        found.append(_in_layout(compiled, other.kind))
    layouts = (_layout_start(session, replace(submitted, compiled=each), source) for each in found)
    return LayoutStarts(plan=compiled.plan, layouts=tuple(layouts))


def _prepared(session: Session, source: Source, after: tuple[Dependency, ...]) -> Submitted:
    (prepared,) = prepare(session, [source], keep=False, after=after)
    _, free = session.store.newest_and_free(prepared.name)
    return described(session, prepared, free)


def _layout_start(session: Session, submitted: Submitted, source: Source) -> LayoutStart:
    layout, scheduler = submitted.compiled.plan.layout, submitted.compiled.site.scheduler
    return LayoutStart(
        layout_kind=layout.kind,
        node_count=layout.node_count,
        backfill_interval=scheduler.backfill_interval if layout.kind == "het" else None,
        estimate=_estimate_of(session, submitted, source),
    )


def _in_layout(compiled: Compiled, kind: LayoutKind) -> Compiled:
    """Return a job as it would be if its file requested this layout."""
    job = replace(compiled.job, slurm_options=replace(compiled.job.slurm_options, layout=kind))
    planned = compiled.plan
    return replace(compiled, job=job, plan=plan(job, compiled.site, source=planned.source, version=planned.version))


def _estimate_of(session: Session, submitted: Submitted, source: Source) -> StartEstimate:
    """Return when a prepared job would start."""
    compiled, named = submitted.compiled, _partitions(submitted.compiled)
    start = Start(at=session.now())
    if submitted.backend != LOCAL:
        runner = session.slurm_runner(submitted.backend)
        try:
            start = ask_start(runner, compiled.script, named, compiled.plan.slurm.cluster or "")
        except RejectedError as error:
            raise located(session, error, compiled, replace(source, backend=submitted.backend)) from None
    seconds = start.seconds_from(session.now())
    return StartEstimate(
        job=submitted.job,
        user=submitted.user,
        name=submitted.folder.name,
        backend=submitted.backend,
        task_count=compiled.job.task_count,
        dependencies=submitted.dependencies,
        diagnostics=submitted.diagnostics,
        expected_start_at=aware(start.at),
        expected_wait=seconds,
        at_once=seconds == 0,
        reason=start.reason or None,
        expected_nodes=start.nodes or None,
        expected_partition=start.partition or None,
        preempted_jobs=start.preempts,
        component_count=len(compiled.plan.components),
        partitions=named,
    )


def _partitions(compiled: Compiled) -> tuple[str, ...]:
    """Return the partitions of the components, each once, `a,b` for a component that can use either.

    Return none if a component uses Slurm's default partition without a known name.
    """
    default = compiled.site.default_partition or ""
    named = [dict(component.directives).get("partition") or default for component in compiled.plan.components]
    return tuple(dict.fromkeys(named)) if all(named) else ()
