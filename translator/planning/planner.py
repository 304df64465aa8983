"""The planner: from a job and a site to a plan. The module of each part plans that part."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, product
from typing import TYPE_CHECKING

from ..errors import Diagnostic, PlanError
from .choose_layout import allocate
from .environment import environment_plan, exports_all, node_plan, path_warnings
from .images import image_plans, secrets_of
from .infiniband import infiniband_warnings
from .job_plan import Plan
from .layout.capacity import whole_cores
from .limits import check_restarts, requeue_warnings, requeues, restart_warnings, retry_plan, time_limit, time_plan
from .mounts import container_plan, container_warnings, mounts, storage_warnings
from .mpi import has_pmix, mpi_warnings, mpi_worlds
from .roles import role_plans
from .slurm.components import components
from .slurm.hazards import hazard_warnings, hazards_of, slurm_plan
from .slurm.over_limits import over_limits
from .slurm.request import Request, asked_of, refusals
from .slurm.target import cluster_warnings, ignored_hints, virtual_cluster

if TYPE_CHECKING:
    from ..job import Job
    from ..site.profile import Site
    from .layout.layout import Allocation
    from .mpi import Worlds


def plan(job: Job, site: Site, *, source: str, version: str) -> Plan:
    """Return the plan of a job on a site; PlanError with a reason if the site can never run it.

    `source` is the base name of the job file. The same arguments give the same plan.
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
        virtual_cluster=job.virtual_cluster or None,
        exit_patterns=job.compat.exit_patterns,
        background=job.compat.background if job.protocol == "2" else "stop",
        gang=job.gang,
        layout=allocation.layout,
        spare=job.slurm_options.spare,
        requeues=requeues(job, site, allocation.layout.kind),
        whole_nodes=request.whole_nodes,
        components=components(request, allocation),
        roles=role_plans(request, allocation, worlds),
        containers=container_plan(job, site, request.mounts),
        secrets=secrets_of(job, request.images),
        environment=environment_plan(job, site),
        one_log=site.logs.one_file_per_task,
        checkpoints=job.slurm_options.checkpoints or None,
        min_succeeded=job.min_succeeded,
        nodes=node_plan(job, site),
        slurm=slurm_plan(request),
        times=time_plan(job, site, request.limit),
        retry_policy=retry_plan(job, site),
        notify=job.notify,
        warnings=_warnings(request, allocation, worlds),
    )


def _request(job: Job, site: Site) -> Request:
    """Return the request of a job to a site; PlanError if the site cannot fulfil it."""
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
    """Return the warnings of a plan that is possible but may not do what the user expects."""
    job, site = request.job, request.site
    return (
        *cluster_warnings(job, site),
        *ignored_hints(job, site),
        *storage_warnings(job, site, request.mounts),
        *infiniband_warnings(job, site),
        *container_warnings(job, site, request.mounts),
        *mpi_warnings(job, site, allocation.layout.kind, worlds),
        *path_warnings(job, site),
        *_nodes_not_known(job, site, allocation),
        *_unexported_peers(job),
        *_fixed_ports(job, allocation),
        *requeue_warnings(job, site, allocation.layout.kind),
        *_no_notifier(job, site),
        *hazard_warnings(request, allocation.layout.kind),
        *restart_warnings(job, site),
    )


def _nodes_not_known(job: Job, site: Site, allocation: Allocation) -> tuple[Diagnostic, ...]:
    """Warn that a job may never start, because the profile does not contain the number of nodes."""
    if allocation.nodes_known or len(job.roles) == 1 or not site.is_known:
        return ()
    least = sum(nodes.count if nodes else 1 for nodes in allocation.nodes)
    message = (
        f"each of the {len(job.roles)} task roles becomes a component of the Slurm job, and components never share a "
        f"node: in a partition with fewer than {least} nodes the job never starts"
    )
    hint = "describe the partition's nodes in the site profile, so that the planner finds a layout that fits"
    return (Diagnostic(code="W403", message=message, path="$.taskRoles", hint=hint),)


def _fixed_ports(job: Job, allocation: Allocation) -> tuple[Diagnostic, ...]:
    """Warn of tasks of two roles with the same fixed port on one node of the shared layout."""
    placements = allocation.packing.placements if allocation.packing else ()
    users: dict[tuple[int, int], list[int]] = defaultdict(list)
    for position, placement in enumerate(placements):
        if job.roles[position].has_fixed_ports:
            on = (node for nodes in placement for node in range(nodes.first, nodes.last + 1))
            ports = (range(port.first, port.first + port.count) for port in job.roles[position].ports if port.first)
            for place in product(on, set().union(*ports)):
                users[place].append(position)
    first: dict[tuple[int, int], int] = {}
    for (_, port), positions in users.items():
        for pair in combinations(positions, 2):
            first[pair] = min(port, first.get(pair, port))
    return tuple(
        Diagnostic(
            code="W421",
            message=f"the roles {job.roles[one].name} and {job.roles[other].name} use the same "
            f"fixed port {port}, and their tasks share nodes: on each such node one task will fail",
            path="$.taskRoles",
            hint="give each role fixed ports of its own",
        )
        for (one, other), port in sorted(first.items())
    )


def _no_notifier(job: Job, site: Site) -> tuple[Diagnostic, ...]:
    if not job.notify or site.notifications.notifier is not None:
        return ()
    message = f"no notifications will be sent ({', '.join(job.notify)}): the site profile has no notifier"
    hint = "add to the site profile `notifications: {command: [...]}` or `{sendmail: /usr/sbin/sendmail}`"
    return (Diagnostic(code="W409", message=message, path="$.extras.jobStatusChangeNotification", hint=hint),)


def _unexported_peers(job: Job) -> tuple[Diagnostic, ...]:
    if exports_all(job):
        return ()
    message = f"the job has {job.task_count} tasks: each inherits only the variables about itself"
    source = 'read those about all tasks with `source "$PAISLURM_PEERS"`, or ' if job.gang else ""
    hint = f"{source}print those about one task with `paislurm-peer ROLE INDEX`"
    return (Diagnostic(code="W404", message=message, path="$.taskRoles", hint=hint),)
