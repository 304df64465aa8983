"""Estimate the start of a job if it were submitted now."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from paislurm.backends.base import LOCAL

from ...errors import RejectedError
from ...times import aware
from ..submit.prepare import prepare
from ..submit.refusal_location import located
from ..submit.submit import described
from .ask import GpuQuery, ask_start
from .start import Start, StartEstimate

if TYPE_CHECKING:
    from ...pipeline import Compiled
    from ...state.records import Dependency
    from ..input.source import Source
    from ..session import Session
    from ..submit.result import Submitted
    from .gpus import Pool


class Estimate(NamedTuple):
    """Slurm's estimate of a job's start, and the pools of its partitions; `partitions` are those of the job."""

    submitted: Submitted
    start: Start
    pools: tuple[Pool, ...]
    partitions: tuple[str, ...]
    now: int

    @property
    def component_count(self) -> int:
        """The number of components."""
        return len(self.submitted.compiled.plan.components)

    @property
    def record(self) -> StartEstimate:
        """The estimate for JSON and the Python API."""
        submitted, start, seconds = self.submitted, self.start, self.start.seconds_from(self.now)
        return StartEstimate(
            job=submitted.job,
            user=submitted.user,
            name=f"{submitted.user}~{submitted.job}",
            backend=submitted.backend,
            task_count=submitted.compiled.job.task_count,
            dependencies=submitted.dependencies,
            diagnostics=submitted.diagnostics,
            expected_start_at=aware(start.at),
            expected_wait=seconds,
            at_once=seconds == 0,
            resources_free=start.resources_free,
            reason=start.reason or None,
            expected_nodes=start.nodes or None,
            expected_partition=start.partition or None,
            preempted_jobs=start.preempts,
            component_count=self.component_count,
            partitions=tuple(pool.gpus for pool in self.pools),
        )


def estimate(session: Session, source: Source, after: tuple[Dependency, ...] = ()) -> Estimate:
    """Return when a job would start, without checks of its name and its folder's space. Nothing is submitted.

    Raises BackendError like a submit.
    """
    (prepared,) = prepare(session, [source], keep=False, after=after)
    return estimate_of(session, described(session, prepared, None), source)


def estimate_of(session: Session, submitted: Submitted, source: Source) -> Estimate:
    """Return when a prepared job would start."""
    named = _partitions(submitted.compiled)
    start, pools = _asked(session, submitted, source, named)
    partitions = named or tuple(each.name for each in pools)
    return Estimate(submitted=submitted, start=start, pools=pools, partitions=partitions, now=session.now())


def _asked(
    session: Session, submitted: Submitted, source: Source, partitions: tuple[str, ...]
) -> tuple[Start, tuple[Pool, ...]]:
    if submitted.backend == LOCAL:
        return Start(at=session.now(), resources_free=True), ()
    compiled = submitted.compiled
    runner = session.slurm_runner(submitted.backend)
    try:
        return ask_start(
            session,
            runner,
            compiled.script,
            partitions,
            GpuQuery(compiled.plan.slurm.cluster or "", compiled.site.gpus.gres),
            _options(compiled),
        )
    except RejectedError as error:
        raise located(session, error, compiled, replace(source, backend=submitted.backend)) from None


def _partitions(compiled: Compiled) -> tuple[str, ...]:
    """Return the partitions of the components, each once, `a,b` for a component that can use either.

    Return none if a component uses Slurm's default partition without a known name.
    """
    default = compiled.site.default_partition or ""
    named = [dict(component.directives).get("partition") or default for component in compiled.plan.components]
    return tuple(dict.fromkeys(named)) if all(named) else ()


def _options(compiled: Compiled) -> list[tuple[tuple[str, str | None], ...]]:
    """Return the sbatch options of each component, with the profile's partition as the default."""
    default = compiled.site.default_partition
    first = (("partition", default),) if default else ()
    return [(*first, *component.directives) for component in compiled.plan.components]
