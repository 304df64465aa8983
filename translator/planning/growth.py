"""The requests of later attempts: more memory after a lack of it, more time after the limit. Memory in MiB."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ..errors import PlanError
from ..plural import memory_of_roles
from ..times import slurm_time
from .planner import plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..job import Job, Role
    from ..site.profile import Site
    from ..slurm_options import More
    from .job_plan import Plan


class Growth(Struct, frozen=True, kw_only=True):
    """The requests of the first attempt and of the next ones, each larger than the last; () if none grows.

    `memory` is by role, for the roles whose memory grows. `plans` are those of the attempts with more memory.
    `times` are in seconds. `no_more_memory` and `no_more_time` tell why a further request is not made, or are "".
    """

    memory: tuple[Mapping[str, int], ...] = ()
    plans: tuple[Plan, ...] = ()
    no_more_memory: str = ""
    times: tuple[int, ...] = ()
    no_more_time: str = ""


def growth_of(job: Job, site: Site, planned: Plan) -> Growth:
    """Return how the requests of a planned job grow. A request that the site refuses is never made."""
    found, limit, default = Growth(), planned.times.limit, site.retry_with
    more = job.slurm_options.more_time or (default.timeout.more if default and default.timeout else None)
    if more is not None and more.times and limit is None:
        found = replace(found, no_more_time="the job states no time limit that could grow")
    elif more is not None and limit is not None:
        found = _with_times(found, job, site, planned, more.steps(int(limit.total_seconds())))
    by_role = {
        role.name: more.steps(role.resources.memory_mib)
        for role in job.roles
        if (more := _more_memory(job, role, site)) is not None
    }
    for step in range(1, max(map(len, by_role.values()), default=0)):
        memory = {name: steps[min(step, len(steps) - 1)] for name, steps in by_role.items() if steps}
        try:
            plans = (
                *found.plans,
                plan(_with_memory(job, memory), site, source=planned.source, version=planned.version),
            )
        except PlanError as error:
            return replace(found, no_more_memory=f"{memory_of_roles(memory)} cannot be had: {error.words}")
        first = found.memory or ({name: steps[0] for name, steps in by_role.items() if steps},)
        found = replace(found, memory=(*first, memory), plans=plans)
    return found


def _with_times(found: Growth, job: Job, site: Site, planned: Plan, steps: list[int]) -> Growth:
    options = job.slurm_options
    for number, seconds in enumerate(steps[1:], 2):
        longer = replace(options, job=replace(options.job, time=timedelta(seconds=seconds)))
        try:
            plan(replace(job, slurm_options=longer), site, source=planned.source, version=planned.version)
        except PlanError as error:
            limit = slurm_time(timedelta(seconds=seconds))
            return replace(found, no_more_time=f"a time limit of {limit} cannot be had: {error.words}")
        found = replace(found, times=tuple(steps[:number]))
    return found


def _more_memory(job: Job, role: Role, site: Site) -> More | None:
    default = site.retry_with.out_of_memory if site.retry_with else None
    own = role.slurm_options.more_memory or job.slurm_options.job.more_memory
    return own or (default.more if default else None)


def _with_memory(job: Job, memory: Mapping[str, int]) -> Job:
    return replace(
        job,
        roles=tuple(
            replace(
                role, resources=replace(role.resources, memory_mib=memory.get(role.name, role.resources.memory_mib))
            )
            for role in job.roles
        ),
    )
