"""job + site -> plan: each step decides one thing and hands it on."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from ..errors import PlanError
from ..job import RESTART_ALWAYS
from ..slurm_options import WARNED_FROM
from .containers import container_plan, container_warnings, workdir
from .directories import path_variables
from .environment import job_variables, role_variables, variable_names
from .hooks import hook_scripts, ordered_hooks
from .images import image_plans
from .infiniband import infiniband_of_roles, infiniband_warnings
from .layout.capacity import whole_cores
from .layout.choose_layout import choose_layout
from .layout.layout import Overheads
from .mpi import has_pmix, has_several_ranks, is_feasible, mpi_worlds
from .peers import exports_all
from .plan import Component, Plan, RolePlan
from .plan_parts import EnvironmentPlan, NodePlan, RetryPlan, SlurmPlan, TimePlan
from .slurm.hazards import met, reason
from .slurm.hazards import warnings as hazard_warnings
from .slurm.options import (
    batch_memory_mib,
    first_component,
    is_uneven,
    memory_per_cpu,
    role_component,
    shared_component,
    step_options,
)
from .slurm.over_limits import over_limits
from .slurm.permitted import asked_of, constraint_of, is_over_partition_time, refusals
from .slurm.target import compatible, ignored_hints, partition_of, targets_of, time_limit, virtual_cluster
from .storages import mounts, storage_prerequisite
from .warnings import plan_warnings, restarts

if TYPE_CHECKING:
    from ..job import Job, Role
    from ..site.partitions import Partition
    from ..site.profile import Site
    from .images import ImagePlan
    from .infiniband import RoleInfiniband
    from .layout.choose_layout import Allocation
    from .mpi import RankCount
    from .slurm.hazards import Concern, Hazard
    from .slurm.options import Options
    from .slurm.target import SlurmTarget
    from .storages import Mount


def plan(job: Job, site: Site, *, source: str, version: str) -> Plan:
    """Return the plan of a job on a site; PlanError with a reason if the site can never run it.

    `source` is the job file's base name. The same arguments give the same plan.
    """
    cluster, warnings = virtual_cluster(job, site)
    targets = targets_of(job, cluster, site)
    mounted, storage_warnings = mounts(job, site)
    partitions = [partition_of(target, site) for target in targets]
    named = asked_of(job, site, targets, partitions)
    limit = time_limit(job, site, [each.partition for each in named if not is_over_partition_time(site, each)])
    if refused := refusals(job, site, named, limit):
        raise PlanError(refused)
    images = image_plans(job, site)
    restart_warnings = restarts(job, site)
    asked = whole_cores(job, site, partitions)
    overheads = Overheads(
        batch_memory_mib=batch_memory_mib(len(job.roles)),
        gpu_types=tuple(target.gpu_type or "" for target in targets),
        constraints=tuple(constraint_of(role, target, site) for role, target in zip(job.roles, targets, strict=True)),
        all_partitions=tuple(site.partitions.values()),
        gpus_by_node=tuple(site.gpus.gres != "gpu" or has_several_ranks(job, role) for role in job.roles),
    )
    known = _hazards(job, site, partitions)
    danger = reason(site.slurm_version, known) if known and is_feasible(job, site, "shared") else ""
    allocation = choose_layout(
        asked,
        partitions,
        overheads,
        compatible_roles=compatible(job, site, targets),
        danger=danger,
        no_components=site.scheduler.why_no_components,
    )
    if refused := over_limits(asked, site, named, allocation, limit):
        raise PlanError(refused)
    paths, path_warnings = path_variables(job, site)
    native, native_warnings = mpi_worlds(job, site, allocation.layout.kind)
    warning = site.time.warning if limit is not None and limit > WARNED_FROM else timedelta(0)
    names, infiniband = variable_names(job), infiniband_of_roles(job, site)
    return Plan(
        job_name=job.name,
        source=source,
        version=version,
        protocol=job.protocol,
        virtual_cluster=job.virtual_cluster,
        exit_patterns=job.compat.exit_patterns,
        gang=job.gang,
        layout=allocation.layout,
        components=_components(asked, site, targets, allocation, first_component(job, site, limit, warning)),
        roles=tuple(
            _role(
                job,
                asked.roles[position],
                site,
                allocation,
                mounted,
                position,
                image=images[position],
                ranks=native.get(position),
                names=names[position],
                infiniband=infiniband[position],
            )
            for position in range(len(job.roles))
        ),
        containers=container_plan(job, site, mounted),
        secrets=(*job.secrets, *(job.logins if any(image.reference for image in images) else ())),
        environment=EnvironmentPlan(
            of_job=job_variables(job, site),
            paths=paths,
            of_commands=job.variables,
            exported=job.slurm_options.export_env,
            makes_output=bool(paths and not (job.directories and job.directories.output) and site.default_file_system),
            full_job_name=job.compat.job_name == "full",
            exports_all_peers=exports_all(job),
        ),
        one_log=site.logs.one_file_per_task,
        min_succeeded=job.min_succeeded,
        nodes=NodePlan(
            address=site.address.method,
            node_suffix=site.address.suffix,
            first_port=site.ports.first,
            last_port=site.ports.last,
            gpu_vendor=site.gpus.vendor,
            gpu_gres=_other_gres(job, site),
            sysfs=site.infiniband.sysfs if site.infiniband else "",
        ),
        slurm=SlurmPlan(cluster=site.cluster, version=site.slurm_version, hazards=known),
        times=TimePlan(
            limit=limit,
            warning=warning,
            grace=site.time.grace,
            interrupted_grace=max(
                timedelta(seconds=1), min(site.time.grace, site.time.kill_wait - timedelta(seconds=2))
            ),
            debug_hold=min(site.time.debug_hold, job.debug_hold or timedelta(0)),
        ),
        retry_policy=RetryPlan(
            retry_limit=job.retry_limit,
            max_transient_retries=site.retry.max_transient_retries,
            max_restarts=site.retry.most_restarts,
            monitor_after=_monitor_after(job, site),
        ),
        notify=job.notify,
        warnings=(
            *warnings,
            *ignored_hints(job, site),
            *storage_warnings,
            *infiniband_warnings(job, site),
            *container_warnings(job, site, mounted),
            *native_warnings,
            *path_warnings,
            *plan_warnings(job, site, allocation),
            *hazard_warnings(
                site.slurm_version, known, allocation.layout.kind, requested=job.slurm_options.layout is not None
            ),
            *restart_warnings,
        ),
    )


def _monitor_after(job: Job, site: Site) -> Literal["", "failure", "end"]:
    """Return after which ends a step of the monitor has something to do: nobody waits for a success but who is told."""
    if not site.monitor.at_end:
        return ""
    return "end" if job.notify or job.retry_limit == RESTART_ALWAYS else "failure"


def _hazards(job: Job, site: Site, partitions: list[Partition]) -> tuple[Hazard, ...]:
    """Return the faults of the site's Slurm that the job would meet with a component for each role."""
    concerns: set[Concern] = {"jobs"}
    if site.slurm_version and len(job.roles) > 1:
        concerns |= {"components"}
        concerns |= {"partitions"} if len(set(partitions)) > 1 else set()
        concerns |= {"native-mpi"} if has_pmix(job, site) else set()
    return met(site.slurm_version, concerns)


def _components(
    job: Job,
    site: Site,
    targets: list[SlurmTarget],
    allocation: Allocation,
    first: tuple[tuple[str, str | None], ...],
) -> tuple[Component, ...]:
    extra = batch_memory_mib(len(job.roles))
    if allocation.packing is not None:
        target = next((target for target in targets if target.gpu_type), targets[0])
        options = shared_component(job, target, allocation.packing, site, extra=extra)
        roles = tuple(range(len(job.roles)))
        nodes = allocation.packing.nodes
        note = _memory_note(job.roles[0], options, nodes, extra)
        return (Component(directives=(*first, *options), roles=roles, nodes=nodes, note=note),)
    by_node = all(allocation.nodes) and not any(
        is_uneven(role, nodes, slots, site)
        for role, nodes, slots in zip(job.roles, allocation.nodes, allocation.slots, strict=True)
    )
    components: list[Component] = []
    for position, role in enumerate(job.roles):
        known, added = allocation.nodes[position], 0 if components else extra
        options = role_component(
            job, role, site, targets[position], known, allocation.slots[position], by_node=by_node, extra=added
        )
        directives = options if components else (*first, *options)
        count = known.count if known else None
        note = _memory_note(role, options, count, added)
        components.append(Component(directives=directives, roles=(position,), nodes=count, note=note))
    return tuple(components)


def _memory_note(role: Role, options: Options, nodes: int | None, extra: int) -> str:
    """Return what a component says of its `extra` memory, of which a role gives each CPU its part; "" for none."""
    each = {"mem": " of each node" if nodes and nodes > 1 else "", "mem-per-cpu": " of each CPU"}
    asked = next((name for name, _ in options if name in each), None)
    if not asked or not extra:
        return ""
    wanted = role.resources
    added = extra if asked == "mem" else memory_per_cpu(wanted, extra) - memory_per_cpu(wanted)
    return f"memory{each[asked]} raised by {added} MiB for the batch script and its sruns"


def _role(
    job: Job,
    asked: Role,
    site: Site,
    allocation: Allocation,
    mounted: tuple[Mount, ...],
    position: int,
    *,
    image: ImagePlan,
    ranks: RankCount | None,
    names: tuple[str, ...],
    infiniband: RoleInfiniband | None,
) -> RolePlan:
    role, nodes, packing = job.roles[position], allocation.nodes[position], allocation.packing
    hooks = ordered_hooks(role.hooks)
    if mounted and job.storages and site.containers.runtime == "none":
        hooks = (storage_prerequisite(mounted, site, job.storages.lines), *hooks)
    before, after = hook_scripts(hooks)
    return RolePlan(
        position=position,
        name=role.name,
        variable_names=names,
        folder=f"{position}-{folder_name(role.name)}",
        component=0 if packing else position,
        instances=role.instances,
        slots=allocation.slots[position],
        tasks_per_node=nodes.tasks_per_node if nodes else None,
        placement=packing.placements[position] if packing else (),
        step_options=step_options(
            asked,
            site,
            shared=packing is not None,
            tasks_per_node=nodes.tasks_per_node if nodes else 1,
            ranks=ranks.count if ranks else 1,
        ),
        resources=role.resources,
        ports=role.ports,
        completion=role.completion,
        task_retry_limit=role.task_retry_limit,
        ranks=ranks.count if ranks else 0,
        mpi_world=ranks.mpi_world if ranks else None,
        image=role.image,
        image_plan=image,
        before=before,
        command=role.command,
        after=after,
        environment=(*role_variables(job, role), *(infiniband.variables if infiniband else ())),
        workdir=workdir(job, role, site),
        infiniband=infiniband,
        lines=role.lines,
    )


def folder_name(name: str) -> str:
    """Return a role's name as a folder may have it: a v1 role may be called `..`, or be very long."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)[:100]


def _other_gres(job: Job, site: Site) -> str:
    """Return what the job's GPUs are called if that is not `gpu`. Source: gres.conf(5), Name."""
    return site.gpus.gres if site.gpus.gres != "gpu" and any(role.resources.gpus for role in job.roles) else ""
