"""job + site -> plan: each part of it is made by the module that owns it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import PlanError
from .choose_layout import allocate
from .containers import container_plan, container_warnings, mounts, storage_warnings
from .environment import environment_plan, node_plan, path_warnings
from .images import image_plans, secrets_of
from .infiniband import infiniband_warnings
from .layout.capacity import whole_cores
from .limits import check_restarts, restart_warnings, retry_plan, time_limit, time_plan
from .mpi import has_pmix, mpi_warnings, mpi_worlds
from .plan import Plan
from .roles import role_plans
from .slurm.components import components
from .slurm.hazards import hazard_warnings, hazards_of, slurm_plan
from .slurm.over_limits import over_limits
from .slurm.permitted import refusals
from .slurm.request import Request, asked_of
from .slurm.target import cluster_warnings, ignored_hints, virtual_cluster
from .warnings import plan_warnings

if TYPE_CHECKING:
    from ..errors import Diagnostic
    from ..job import Job
    from ..site.profile import Site
    from .layout.layout import Allocation
    from .mpi import Worlds


def plan(job: Job, site: Site, *, source: str, version: str) -> Plan:
    """Return the plan of a job on a site; PlanError with a reason if the site can never run it.

    `source` is the job file's base name. The same arguments give the same plan.
    """
    request = _request(job, site)
    allocation = allocate(request)
    _refuse(over_limits(request, allocation))
    worlds = mpi_worlds(job, site, allocation.layout.kind)
    return Plan(
        job_name=job.name,
        source=source,
        version=version,
        protocol=job.protocol,
        virtual_cluster=job.virtual_cluster,
        exit_patterns=job.compat.exit_patterns,
        gang=job.gang,
        layout=allocation.layout,
        components=components(request, allocation),
        roles=role_plans(request, allocation, worlds),
        containers=container_plan(job, site, request.mounts),
        secrets=secrets_of(job, request.images),
        environment=environment_plan(job, site),
        one_log=site.logs.one_file_per_task,
        min_succeeded=job.min_succeeded,
        nodes=node_plan(job, site),
        slurm=slurm_plan(request),
        times=time_plan(job, site, request.limit),
        retry_policy=retry_plan(job, site),
        notify=job.notify,
        warnings=_warnings(request, allocation, worlds),
    )


def _request(job: Job, site: Site) -> Request:
    """Return what a job asks of a site; PlanError if the site has not all of that."""
    asked = asked_of(job, virtual_cluster(job, site), site)
    mounted = mounts(job, site)
    limit = time_limit(job, site, asked)
    _refuse(refusals(job, site, asked, limit))
    images = image_plans(job, site)
    check_restarts(job, site)
    partitions = [each.partition for each in asked]
    return Request(
        job=job,
        site=site,
        sized=whole_cores(job, site, partitions),
        asked=asked,
        limit=limit,
        mounts=mounted,
        images=images,
        hazards=hazards_of(job, site, partitions, pmix=has_pmix(job, site)),
    )


def _refuse(diagnostics: tuple[Diagnostic, ...]) -> None:
    if diagnostics:
        raise PlanError(diagnostics)


def _warnings(request: Request, allocation: Allocation, worlds: Worlds) -> tuple[Diagnostic, ...]:
    """Return what a user should know of a plan that can be carried out, and may not do what is expected."""
    job, site = request.job, request.site
    return (
        *cluster_warnings(job, site),
        *ignored_hints(job, site),
        *storage_warnings(job, site, request.mounts),
        *infiniband_warnings(job, site),
        *container_warnings(job, site, request.mounts),
        *mpi_warnings(job, site, allocation.layout.kind, worlds),
        *path_warnings(job, site),
        *plan_warnings(job, site, allocation),
        *hazard_warnings(request, allocation.layout.kind),
        *restart_warnings(job, site),
    )
