"""Time limits and retry limits of a job and its tasks, and whether Slurm restarts a job itself."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from ..errors import Diagnostic, PlanError
from ..job import RESTART_ALWAYS
from ..plural import counted
from ..slurm_options import WARNED_FROM
from ..times import slurm_time
from .job_plan import RetryPlan, TimePlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..job import Job
    from ..site.profile import Site
    from .layout.layout import LayoutKind
    from .slurm.request import Asked


def time_limit(job: Job, site: Site, asked: Sequence[Asked]) -> timedelta | None:
    """Return the job's time limit, None for the partition's default. PlanError if a partition allows less."""
    wanted = job.slurm_options.job.time or site.time.default
    for each in asked:
        partition = each.partition
        if wanted is None or partition.time_limit is None or wanted <= partition.time_limit:
            continue
        qos = (site.qos or {}).get(each.qos or "")
        if qos is not None and qos.over_partition_time:
            continue
        message = (
            f"a time limit of {slurm_time(wanted)} is more than partition {partition.name} allows "
            f"({slurm_time(partition.time_limit)})"
        )
        hint = _shorter(wanted, partition.time_limit, site)
        raise PlanError(Diagnostic(code="E403", message=message, path="$.extras.slurm.time", hint=hint))
    return wanted


def _shorter(wanted: timedelta, most: timedelta, site: Site) -> str:
    """Return the hint with a permitted time limit, and with the partitions that permit the wanted time."""
    longer = [each.name for each in site.partitions.values() if each.time_limit is None or each.time_limit >= wanted]
    others = f"; partition {' or '.join(longer)} permits this time" if longer else ""
    return f"write `time: {slurm_time(most)}` under extras.slurm, or less{others}"


def time_plan(job: Job, site: Site, limit: timedelta | None) -> TimePlan:
    """Return the times of a job with this time limit."""
    kill_wait = site.time.kill_wait - timedelta(seconds=2)
    return TimePlan(
        limit=limit,
        warning=site.time.warning if limit is not None and limit > WARNED_FROM else timedelta(0),
        grace=site.time.grace,
        interrupted_grace=max(timedelta(seconds=1), min(site.time.grace, kill_wait)),
        debug_hold=timedelta(0) if job.debug_hold is None else min(job.debug_hold, site.time.debug_hold),
    )


def retry_plan(job: Job, site: Site) -> RetryPlan:
    """Return the retry limits of a job and its tasks."""
    return RetryPlan(
        retry_limit=job.retry_limit,
        max_transient_retries=site.retry.max_transient_retries,
        max_restarts=site.retry.most_restarts,
        monitor_after=_monitor_after(job, site),
    )


def _monitor_after(job: Job, site: Site) -> Literal["failure", "end"] | None:
    """Return the ends that need a monitor step: after a success only to notify the user, or to restart."""
    if not site.monitor.at_end:
        return None
    return "end" if job.notify or job.retry_limit == RESTART_ALWAYS else "failure"


def check_restarts(job: Job, site: Site) -> None:
    """Raise PlanError for a job that restarts after any end if the site profile does not bound the restarts.

    Source: PAI protocol v1, retryCount -2.
    """
    if _is_bounded(job, site) or not site.is_known:
        return
    message = "a job that restarts after any end needs a bound, but the site profile sets none"
    hint = "set `retry: {maxRestarts: 100}` in the site profile, or use another retry count"
    raise PlanError(Diagnostic(code="E406", message=message, path=job.paths.retry_count, hint=hint))


def restart_warnings(job: Job, site: Site) -> tuple[Diagnostic, ...]:
    """Warn of a job that restarts after any end, but not for ever."""
    if _is_bounded(job, site):
        return ()
    message = f"the job restarts at most {counted(site.retry.most_restarts, 'time')}, not for ever"
    hint = "set a higher bound in the site profile: `retry: {maxRestarts: 100}`"
    return (Diagnostic(code="W410", message=message, path=job.paths.retry_count, hint=hint),)


def _is_bounded(job: Job, site: Site) -> bool:
    return job.retry_limit != RESTART_ALWAYS or site.retry.max_restarts is not None


def requeues(job: Job, site: Site, layout: LayoutKind) -> bool:
    """Return whether Slurm restarts the job after the loss of a node, before all that wait.

    Source: sbatch(1), --requeue; 25.11.
    """
    return job.slurm_options.requeue is not None and not _why_not(job, site, layout)


def _why_not(job: Job, site: Site, layout: LayoutKind) -> str:
    if not site.scheduler.expedited_requeue:
        return "the site profile does not say that its Slurm can (`scheduler: {expeditedRequeue: true}`)"
    if layout == "het":
        return "the layout het has several components, of which Slurm restarts none"
    if job.slurm_options.spare:
        return "Slurm restarts no job that goes on after the loss of a node, as one with spare nodes does"
    if not site.retry.max_transient_retries:
        return "the site profile allows no retries after transient failures (`retry.maxTransientRetries`)"
    return ""


def requeue_warnings(job: Job, site: Site, layout: LayoutKind) -> tuple[Diagnostic, ...]:
    """Warn of a job that Slurm does not restart, although it asks for that."""
    if job.slurm_options.requeue is None or not (why := _why_not(job, site, layout)):
        return ()
    message = f"Slurm will not restart the job after the loss of a node: {why}"
    hint = "a lost node leads to a fresh attempt; remove `requeue` to silence this"
    return (Diagnostic(code="W416", message=message, path="$.extras.slurm.requeue", hint=hint),)
