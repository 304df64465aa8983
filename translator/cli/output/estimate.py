"""The output of `submit --test-only`: the expected start of the job, and the GPUs of its partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paislurm.backends.base import LOCAL

from ...app.estimate.layouts import backfill_interval
from ...app.submit.after import text_of
from ...plural import counted, verb
from ...times import duration_text, format_time
from .console import log, print_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...app.estimate.estimate import Estimate
    from ...app.estimate.gpus import PartitionGpus
    from ...app.estimate.start import Start


def print_estimate(found: Estimate) -> None:
    """Print the expected start of a job."""
    job, submitted = found.submitted.job, found.submitted
    if submitted.backend == LOCAL:
        print_result(f"{job} would start at once on this machine: the local backend has no queue")
    else:
        components = found.component_count
        print_result(start_text(job, found.start, found.partitions, components=components, now=found.now))
        for pool in found.pools:
            if pool.gpus.gpu_count:
                print_result(gpus_text(pool.gpus))
    if submitted.after:
        log(f"it will not be submitted before {text_of(submitted.after)}")


def print_layouts(found: Sequence[Estimate]) -> None:
    """Print the expected start of each layout."""
    for each in found:
        kind, components = each.submitted.compiled.plan.layout.kind, each.component_count
        if each.submitted.backend == LOCAL:
            said = f"layout {kind} would start at once on this machine: the local backend has no queue"
        else:
            said = start_text(f"layout {kind}", each.start, each.partitions, components=components, now=each.now)
        print_result(said + _backfill_text(each))


def _backfill_text(found: Estimate) -> str:
    """Return how long a job with several components waits for the backfill scheduler, "" for other jobs.

    Source: Slurm's documentation, heterogeneous jobs: only the backfill scheduler starts them.
    """
    if found.component_count == 1 or found.start.at is None or found.submitted.backend == LOCAL:
        return ""
    interval = backfill_interval(found)
    when = f" within {interval} s" if interval else ""
    return f"; the start comes with the next run of the backfill scheduler{when}"


def start_text(name: str, start: Start, partitions: Sequence[str], *, components: int, now: int) -> str:
    """Return the expected start of a job, its place, and the source of the estimate.

    `sbatch --test-only` ignores backfill. It can report a much later time for a job whose resources are free now
    (observed on 24.11), although the job may start at once.
    """
    seconds = start.seconds_from(now)
    if start.at is None or seconds is None:
        return f"Slurm cannot estimate when {name} would start: {start.reason}"
    named = [start.partition] if start.partition else [*partitions]
    where = f" in partition{'s' * (len(named) > 1)} {' and '.join(named)}" if named else ""
    place = f"{f' on {start.nodes}' if start.nodes else ''}{where}"
    when = f"{format_time(start.at)} (in {duration_text(seconds)})"
    if seconds and start.resources_free:
        said = (
            f"resources for {name} are free now: backfill may start it at once, if its time limit ends before jobs "
            f"ahead of it need them; Slurm's estimate, without backfill, is {when}{place}"
        )
    else:
        said = f"{name} would start {f'at {when}' if seconds else 'at once'}{place} (Slurm's estimate)"
    if start.preempts:
        jobs = "job" if len(start.preempts) == 1 else "jobs"
        said += f"; {jobs} {', '.join(start.preempts)} would be preempted"
    if components > 1:
        said += f"; the estimate is for each of the {components} components alone, together they may start later"
    return said


def gpus_text(pool: PartitionGpus) -> str:
    """Return the number of free GPUs of a partition, and of jobs that wait for some."""
    types = ", ".join(
        f"{each.gpu_type} {each.free_gpu_count} of {each.gpu_count}" for each in pool.gpu_types if each.gpu_type
    )
    parts = [
        f"{pool.free_gpu_count} of {pool.gpu_count} free" + (f" ({types})" if types else ""),
        *([f"{pool.stranded_gpu_count} more on nodes without a free CPU"] if pool.stranded_gpu_count else []),
        *([f"{pool.unavailable_gpu_count} on unavailable or reserved nodes"] if pool.unavailable_gpu_count else []),
        _waiting(pool),
    ]
    return f"GPUs in partition {pool.partition} now: {', '.join(parts)}"


def _waiting(pool: PartitionGpus) -> str:
    jobs = pool.waiting_job_count
    if not jobs:
        return "no job waits for any"
    return f"{counted(jobs, 'job')} {verb(jobs, 'waits', 'wait')} for {pool.waiting_gpu_count}"
