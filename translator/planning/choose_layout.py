"""Which layout a job gets, and how many slots each role."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..errors import Diagnostic, PlanError
from ..plural import counted
from .layout.capacity import Demand, Nodes, allocate_disjoint, node_capacity, nodes_for
from .layout.infeasible import components_refused, infeasible, names, node_count, role_too_large
from .layout.layout import Allocation, Conditions, Layout
from .layout.packing import pack
from .mpi import has_several_ranks, is_feasible
from .slurm.components import batch_memory_mib
from .slurm.hazards import danger_of
from .slurm.target import compatible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..job import Job
    from ..site.partitions import Partition
    from .slurm.request import Request

MAX_COMPONENTS = 128
"""`srun --het-group` refuses 128 and above. Source: observed on Slurm 22.05 and 24.11."""
MANY_ROLES = 8
"""From so many roles on, one shared allocation is preferred where it halves the number of nodes."""


def allocate(request: Request) -> Allocation:
    """Return the arrangement of a job; PlanError if it can never start."""
    job, site = request.job, request.site
    danger = danger_of(request)
    conditions = Conditions(
        batch_memory_mib=batch_memory_mib(len(job.roles)),
        gpu_types=tuple(each.target.gpu_type or "" for each in request.asked),
        constraints=tuple(each.constraint(site) for each in request.asked),
        gpus_by_node=tuple(site.gpus.gres != "gpu" or has_several_ranks(job, role) for role in job.roles),
        all_partitions=tuple(site.partitions.values()),
        alike=compatible(job, site, request.targets),
        danger=danger if danger and is_feasible(job, site, "shared") else "",
        no_components=site.scheduler.why_no_components,
    )
    return _choose_layout(request.sized, request.partitions, conditions)


def _choose_layout(job: Job, partitions: Sequence[Partition], conditions: Conditions) -> Allocation:
    known = all(partition.nodes for partition in partitions)
    requested, no_components = job.slurm_options.layout, conditions.no_components
    if no_components and len(job.roles) > 1 and (requested == "het" or not known or not conditions.alike):
        raise PlanError(components_refused(job, no_components, nodes_known=known))
    if not known:
        return _without_shapes(job, conditions)
    if len(job.roles) == 1:
        return _plain(job, partitions[0], conditions)
    het = shared = None
    if requested != "shared" and len(job.roles) <= MAX_COMPONENTS and not no_components:
        het = _slots_that_fit(job, lambda slots: _het(job, partitions, slots, conditions))
    if requested != "het" and conditions.alike:
        shared = _slots_that_fit(job, lambda slots: _shared(job, partitions, slots, conditions))
    if requested is not None:
        return _as_requested(job, partitions, het if requested == "het" else shared, requested)
    return _choose(job, partitions, conditions, het, shared)


def _without_shapes(job: Job, conditions: Conditions) -> Allocation:
    """Trust Slurm with the packing.

    A role with fixed ports, of which a node has one each, gets a node for each task, and so does one with GPUs that
    Slurm counts by node alone.
    """
    slots = _stated_slots(job)
    if job.slurm_options.layout == "shared" and len(job.roles) > 1:
        raise PlanError(
            Diagnostic(
                code="E412",
                message="the shared layout needs to know the nodes, and no site profile describes them",
                path="$.extras.slurm.layout",
                hint="write the partition's nodes into site.yaml, or use the layout het",
            )
        )
    nodes = tuple(
        Nodes(count=count, tasks_per_node=1) if role.has_fixed_ports or (role.resources.gpus and by_node) else None
        for role, count, by_node in zip(job.roles, slots, conditions.gpus_by_node, strict=True)
    )
    if len(job.roles) == 1:
        layout = Layout(kind="plain", reason="a job of one role")
        return Allocation(layout=layout, slots=slots, nodes=nodes, nodes_known=False)
    if len(job.roles) > MAX_COMPONENTS:
        raise PlanError(
            Diagnostic(
                code="E413",
                message=f"{len(job.roles)} roles are more than the {MAX_COMPONENTS} components that srun can address",
                path="$.taskRoles",
                hint="write the partition's nodes into site.yaml: the shared layout has no such limit",
            )
        )
    reason = "the nodes are not known, so each role has a component and Slurm packs it"
    return Allocation(layout=Layout(kind="het", reason=reason), slots=slots, nodes=nodes, nodes_known=False)


def _stated_slots(job: Job) -> tuple[int, ...]:
    """Return how many tasks of each role may run at a time by the job's own words: all, unless gang is off."""
    if job.gang:
        return tuple(role.instances for role in job.roles)
    slurm_options = [role.slurm_options.slots or job.slurm_options.job.slots or role.instances for role in job.roles]
    return tuple(min(requested, role.instances) for requested, role in zip(slurm_options, job.roles, strict=True))


def _slots_that_fit(job: Job, attempt: Callable[[tuple[int, ...]], Allocation | None]) -> Allocation | None:
    """Try all slots; without gang allocation try fewer, the same limit for every role, and keep the most that fit."""
    slots = _stated_slots(job)
    best = attempt(slots)
    if best is not None or job.gang:
        return best
    low, high = 1, max(slots)
    while low < high:
        limit = (low + high) // 2
        found = attempt(tuple(min(limit, count) for count in slots))
        if found is not None:
            best = found
            low = limit + 1
        else:
            high = limit
    return best


def _demands(job: Job, slots: tuple[int, ...], conditions: Conditions, *, batch: bool = True) -> list[Demand]:
    """Return the demand of each role; the first one's nodes also hold the batch script, unless all share nodes."""
    return [
        Demand(
            slots=count,
            resources=role.resources,
            extra_memory_mib=conditions.batch_memory_mib if batch and not position else 0,
            one_per_node=role.has_fixed_ports,
            gpu_type=conditions.gpu_types[position],
            constraint=conditions.constraints[position],
        )
        for position, (role, count) in enumerate(zip(job.roles, slots, strict=True))
    ]


def _plain(job: Job, partition: Partition, conditions: Conditions) -> Allocation:
    def attempt(slots: tuple[int, ...]) -> Allocation | None:
        nodes = nodes_for(partition.nodes, _demands(job, slots, conditions)[0])
        layout = Layout(kind="plain", reason="a job of one role")
        return None if nodes is None else Allocation(layout=layout, slots=slots, nodes=(nodes,))

    found = _slots_that_fit(job, attempt) or _unevenly(job, partition, conditions)
    if found is None:
        raise PlanError(role_too_large(job, 0, partition, conditions))
    return found


def _unevenly(job: Job, partition: Partition, conditions: Conditions) -> Allocation | None:
    """Leave it to Slurm to pack the tasks of a role that do fit, more on some nodes than on others.

    None where they do not, or where Slurm counts their GPUs by node, which is the same number on each.
    """
    (demand,) = _demands(job, _stated_slots(job), conditions)
    room = sum(shape.count * node_capacity(shape, demand) for shape in partition.nodes)
    if demand.slots > room or demand.one_per_node or (demand.resources.gpus and conditions.gpus_by_node[0]):
        return None
    layout = Layout(kind="plain", reason="a job of one role, of which some nodes hold more tasks than others")
    return Allocation(layout=layout, slots=(demand.slots,), nodes=(None,))


def _het(
    job: Job, partitions: Sequence[Partition], slots: tuple[int, ...], conditions: Conditions
) -> Allocation | None:
    demands = _demands(job, slots, conditions)
    nodes: list[Nodes | None] = [None] * len(demands)
    for partition in dict.fromkeys(partitions):
        members = [k for k, other in enumerate(partitions) if other == partition]
        together = allocate_disjoint(partition.nodes, [demands[k] for k in members])
        if together is None:
            return None
        for k, need in zip(members, together, strict=True):
            nodes[k] = need
    total = sum(need.count for need in nodes if need)
    reason = f"a component for each role: {total} of {_nodes(partitions)}"
    return Allocation(layout=Layout(kind="het", reason=reason), slots=slots, nodes=tuple(nodes))


def _nodes(partitions: Sequence[Partition]) -> str:
    """Return how many nodes there are, in words."""
    count = node_count(partitions)
    return "the only node" if count == 1 else f"the {count} nodes"


def _shared(
    job: Job, partitions: Sequence[Partition], slots: tuple[int, ...], conditions: Conditions
) -> Allocation | None:
    if len(set(partitions)) > 1:
        return None
    shapes = [
        shape.model_copy(update={"memory_mib": shape.memory_mib - conditions.batch_memory_mib})
        for shape in partitions[0].nodes
    ]
    packing = pack(shapes, _demands(job, slots, conditions, batch=False))
    if packing is None:
        return None
    reason = f"all roles share {packing.nodes} of {_nodes(partitions)}"
    layout = Layout(kind="shared", reason=reason)
    return Allocation(layout=layout, slots=slots, nodes=(None,) * len(slots), packing=packing)


def _choose(
    job: Job,
    partitions: Sequence[Partition],
    conditions: Conditions,
    het: Allocation | None,
    shared: Allocation | None,
) -> Allocation:
    """Prefer het; take shared where het can never start, holds fewer slots, wastes nodes, or is dangerous."""
    if conditions.no_components:
        why = f"Slurm starts no job with a component for each role here: {conditions.no_components}"
    elif len(job.roles) > MAX_COMPONENTS:
        why = f"srun cannot address the components of {len(job.roles)} roles"
    else:
        why = f"a component for each role needs more than {_nodes(partitions)}"
    if het is None and shared is None:
        raise PlanError(infeasible(job, partitions, conditions))
    if het is None and shared is not None:
        return _with_reason(shared, why)
    if shared is None and het is not None:
        return het
    assert het is not None
    assert shared is not None
    if conditions.danger:
        return _with_reason(shared, conditions.danger)
    het_nodes = sum(need.count for need in het.nodes if need)
    shared_nodes = shared.packing.nodes if shared.packing else 0
    if sum(shared.slots) > sum(het.slots):
        return _with_reason(shared, f"more tasks at a time than with a component for each role ({sum(het.slots)})")
    if len(job.roles) >= MANY_ROLES and 2 * shared_nodes <= het_nodes:
        return _with_reason(shared, f"many small roles, which would take {het_nodes} nodes with a component for each")
    return het


def _with_reason(allocation: Allocation, why: str) -> Allocation:
    layout = allocation.layout
    return replace(allocation, layout=Layout(kind=layout.kind, reason=f"{layout.reason}; {why}"))


def _as_requested(job: Job, partitions: Sequence[Partition], found: Allocation | None, requested: str) -> Allocation:
    if found is None:
        why = f": its {len(job.roles)} components share no node" if requested == "het" else ""
        raise PlanError(
            Diagnostic(
                code="E411",
                message=f"the job asks for the layout {requested}, which can never start on "
                f"{counted(node_count(partitions), 'node')} of {names(partitions)}{why}",
                path="$.extras.slurm.layout",
                hint="leave extras.slurm.layout out: the planner takes the layout that fits",
            )
        )
    return _with_reason(found, "the job asks for it")
