"""How long a job and its tasks have, and how often they are tried again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from ..errors import Diagnostic, PlanError
from ..job import RESTART_ALWAYS
from ..plural import counted
from ..slurm_options import WARNED_FROM
from ..times import slurm_time
from .plan import RetryPlan, TimePlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..job import Job
    from ..site.profile import Site
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
        raise PlanError(
            Diagnostic(
                code="E403",
                message=f"a time limit of {slurm_time(wanted)} is more than partition {partition.name} allows "
                f"({slurm_time(partition.time_limit)})",
                path="$.extras.slurm.time",
                hint=_shorter(wanted, partition.time_limit, site),
            )
        )
    return wanted


def _shorter(wanted: timedelta, most: timedelta, site: Site) -> str:
    """Say what a job could ask for instead of more time than its partition has."""
    longer = [each.name for each in site.partitions.values() if each.time_limit is None or each.time_limit >= wanted]
    others = f"; so long a job may run in {', '.join(longer)}" if longer else ""
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
    """Return how often a job and its tasks are tried again."""
    return RetryPlan(
        retry_limit=job.retry_limit,
        max_transient_retries=site.retry.max_transient_retries,
        max_restarts=site.retry.most_restarts,
        monitor_after=_monitor_after(job, site),
    )


def _monitor_after(job: Job, site: Site) -> Literal["", "failure", "end"]:
    """Return after which ends a monitor step is needed: after a success only to notify the user, or to restart."""
    if not site.monitor.at_end:
        return ""
    return "end" if job.notify or job.retry_limit == RESTART_ALWAYS else "failure"


def check_restarts(job: Job, site: Site) -> None:
    """Raise PlanError for a job that is restarted after any end, where a site profile does not bound the restarts.

    Source: PAI protocol v1, retryCount -2.
    """
    if _is_bounded(job, site) or not site.is_known:
        return
    message = "a job that is restarted after any end needs a bound, and the site profile sets none"
    hint = "set `retry: {maxRestarts: 100}` in the site profile, or give the job a retry count of its own"
    raise PlanError(Diagnostic(code="E406", message=message, path=job.paths.retry_count, hint=hint))


def restart_warnings(job: Job, site: Site) -> tuple[Diagnostic, ...]:
    """Warn of a job that is restarted after any end, and not for ever."""
    if _is_bounded(job, site):
        return ()
    message = f"the job is restarted {counted(site.retry.most_restarts, 'time')} at most, and not for ever"
    hint = "a site profile can say more: `retry: {maxRestarts: 100}`"
    return (Diagnostic(code="W410", message=message, path=job.paths.retry_count, hint=hint),)


def _is_bounded(job: Job, site: Site) -> bool:
    return job.retry_limit != RESTART_ALWAYS or site.retry.max_restarts is not None
