"""What `submit --test-only` prints: when the job would start, and the GPUs of its partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.registry import is_elsewhere

from ...app.estimate.ask import ask_start
from ...app.estimate.start import Start, StartEstimate
from ...app.submit.after import text_of
from ...app.submit.prepare import prepare
from ...app.submit.refusal_location import located
from ...app.submit.submit import described
from ...errors import RejectedError
from ...times import aware
from .console import log, print_json, print_result
from .estimate_words import gpus_text, start_text

if TYPE_CHECKING:
    from ...app.estimate.gpus import Pool
    from ...app.input.source import Source
    from ...app.session import Session
    from ...app.submit.result import Submitted
    from ...pipeline import Compiled
    from ...state.records import Dependency

LOCAL = "local"


def show_start(session: Session, source: Source, after: tuple[Dependency, ...] = (), *, as_json: bool) -> int:
    """Print when a job would start, whatever has its name or its folder's room now. BackendError as a submit has it."""
    (prepared,) = prepare(session, [source], keep=False, after=after)
    submitted = described(session, prepared, None)
    compiled, components = submitted.compiled, len(submitted.compiled.plan.components)
    partitions = _partitions(compiled)
    start, found = _asked(session, submitted, source, partitions)
    now = session.now()
    if as_json:
        print_json(_estimate(submitted, start, found, components, now))
        return 0
    if submitted.backend == LOCAL:
        print_result(f"{submitted.job} would start at once on this machine: the backend local has no queue")
    else:
        named = partitions or tuple(each.partition for each in found)
        print_result(start_text(submitted.job, start, named, components=components, now=now))
        for pool in found:
            if pool.total:
                print_result(gpus_text(pool))
    if submitted.after:
        log(f"it waits first: it is submitted after {text_of(submitted.after)}")
    return 0


def _asked(
    session: Session, submitted: Submitted, source: Source, partitions: tuple[str, ...]
) -> tuple[Start, tuple[Pool, ...]]:
    if submitted.backend == LOCAL:
        return Start(at=session.now(), resources_free=True), ()
    compiled = submitted.compiled
    runner = session.slurm_runner(submitted.backend if is_elsewhere(submitted.backend) else "slurm")
    try:
        return ask_start(
            session,
            runner,
            compiled.script,
            partitions,
            compiled.plan.slurm.cluster or "",
            compiled.site.gpus.gres,
            _options(compiled),
        )
    except RejectedError as error:
        raise located(session, error, compiled, replace(source, backend=submitted.backend)) from None


def _partitions(compiled: Compiled) -> tuple[str, ...]:
    """Return the partitions of each component, each once, `a,b` for one that may go to either.

    There are none if one goes to Slurm's default partition, which nobody has named.
    """
    default = compiled.site.default_partition or ""
    named = [dict(component.directives).get("partition") or default for component in compiled.plan.components]
    return tuple(dict.fromkeys(named)) if all(named) else ()


def _options(compiled: Compiled) -> list[tuple[tuple[str, str | None], ...]]:
    """Return the sbatch options of each component, with the partition that the profile has for those without."""
    default = compiled.site.default_partition
    first = (("partition", default),) if default else ()
    return [(*first, *component.directives) for component in compiled.plan.components]


def _estimate(submitted: Submitted, start: Start, found: tuple[Pool, ...], components: int, now: int) -> StartEstimate:
    """Return the record for `--json`."""
    seconds = start.seconds_from(now)
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
        component_count=components,
        partitions=tuple(pool.printed for pool in found),
    )
