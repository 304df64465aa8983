"""Choice of a job's layout and of the slots of its roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ..errors import Diagnostic, PlanError
from ..plural import counted
from .layout.capacity import Demand, Nodes, allocate_disjoint, evenly, node_capacity, nodes_for
from .layout.infeasible import components_refused, infeasible, names, node_count, role_too_large, spare_refused
from .layout.layout import Allocation, Conditions, Layout, LayoutKind, OtherLayout, pack
from .layout.prefer import prefer, with_reason
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
_LAYOUTS_OF_SEVERAL_ROLES: tuple[LayoutKind, ...] = ("het", "shared")


def allocate(request: Request) -> Allocation:
    """Return the allocation of a job; PlanError if it can never start."""
    job, site = request.job, request.site
    feasible = [kind for kind in _LAYOUTS_OF_SEVERAL_ROLES if is_feasible(job, site, kind)]
    conditions = Conditions(
        batch_memory_mib=batch_memory_mib(len(job.roles)),
        gpu_types=tuple(each.target.gpu_type or "" for each in request.asked),
        constraints=tuple(each.constraint(site) for each in request.asked),
        gpus_by_node=tuple(site.gpus.gres != "gpu" or has_several_ranks(job, role) for role in job.roles),
        all_partitions=tuple(site.partitions.values()),
        alike=compatible(job, site, request.targets),
        danger=danger_of(request) if "shared" in feasible else "",
        no_components=site.scheduler.why_no_components,
        only_layout=feasible[0] if len(feasible) == 1 else None,
        site_layout=None if site.layout == "auto" else site.layout,
        whole_nodes=request.whole_nodes,
        backfill_interval=site.scheduler.backfill_interval,
    )
    return _choose_layout(request.sized, request.partitions, conditions)


def _choose_layout(job: Job, partitions: Sequence[Partition], conditions: Conditions) -> Allocation:
    known = all(partition.nodes for partition in partitions)
    requested, no_components = job.slurm_options.layout, conditions.no_components
    if no_components and len(job.roles) > 1 and (requested == "het" or not known or not conditions.alike):
        raise PlanError(components_refused(job, no_components, nodes_known=known))
    if job.slurm_options.spare:
        return _with_spare_nodes(job, partitions, conditions, known=known)
    if not known:
        return _for_unknown_nodes(job, conditions)
    if len(job.roles) == 1:
        return _plain(job, partitions[0], conditions)
    het, shared = _het_candidate(job, partitions, conditions), _shared_candidate(job, partitions, conditions)
    if requested is not None:
        chosen = _as_requested(job, partitions, het if requested == "het" else shared, requested)
    else:
        chosen = _choose_feasible(job, partitions, conditions, het, shared)
    other = shared if chosen.layout.kind == "het" else het
    if conditions.only_layout not in (None, other.kind):
        other = _Candidate(other.kind, None, "srun cannot start the job's MPI ranks in it")
    return _with_other(chosen, other)


def _with_spare_nodes(job: Job, partitions: Sequence[Partition], conditions: Conditions, *, known: bool) -> Allocation:
    """Return the shared layout, the only one that outlives a lost node. Raises PlanError if the job cannot have it."""
    shared = _shared_candidate(job, partitions, conditions) if known else None
    if job.slurm_options.layout == "het":
        why = "Slurm ends a job of the layout het when it loses a node"
    elif shared is None:
        why = "the site profile does not describe the nodes"
    elif conditions.only_layout == "het":
        why = "the job's MPI ranks need the layout het, which Slurm ends when it loses a node"
    elif shared.allocation is None:
        why = shared.why_not
    else:
        return with_reason(shared.allocation, f"{counted(job.slurm_options.spare, 'node')} spare")
    raise PlanError(spare_refused(job, why))


class _Candidate(NamedTuple):
    """A layout that can start, or else the reason why it cannot."""

    kind: LayoutKind
    allocation: Allocation | None
    why_not: str


def _het_candidate(job: Job, partitions: Sequence[Partition], conditions: Conditions) -> _Candidate:
    if conditions.no_components:
        why = f"Slurm starts no job with a component for each role here: {conditions.no_components}"
        return _Candidate("het", None, why)
    if len(job.roles) > MAX_COMPONENTS:
        return _Candidate("het", None, f"srun cannot address the components of {len(job.roles)} roles")
    found = _slots_that_fit(job, lambda slots: _het(job, partitions, slots, conditions))
    return _Candidate("het", found, "" if found else f"a component for each role needs more than {_nodes(partitions)}")


def _shared_candidate(job: Job, partitions: Sequence[Partition], conditions: Conditions) -> _Candidate:
    if not conditions.alike or len(set(partitions)) > 1:
        return _Candidate("shared", None, "its roles request different partitions, nodes or accounts")
    found = _slots_that_fit(job, lambda slots: _shared(job, partitions, slots, conditions))
    return _Candidate("shared", found, "" if found else f"the tasks do not fit on {_nodes(partitions)} of one size")


def _with_other(chosen: Allocation, other: _Candidate) -> Allocation:
    """Return the chosen layout, beside the other one."""
    found = None if other.allocation is None else other.allocation.node_count
    beside = OtherLayout(kind=other.kind, node_count=found, why_not=other.why_not or None)
    return replace(chosen, layout=replace(chosen.layout, node_count=chosen.node_count, other=beside))


def _for_unknown_nodes(job: Job, conditions: Conditions) -> Allocation:
    """Leave the packing to Slurm.

    A role with a limit of tasks per node gets nodes that each hold so many, because Slurm refuses a limit above what
    its nodes hold (observed on 22.05, 24.11, 26.05). Each task with GPUs that Slurm counts only by node gets a node
    of its own. Raises PlanError for the layout `shared`, or for too many roles.
    """
    slots = _stated_slots(job)
    if job.slurm_options.layout == "shared" and len(job.roles) > 1:
        message = "the shared layout needs a site profile that describes the nodes"
        hint = "describe the partition's nodes in the site profile, or use the layout het"
        raise PlanError(Diagnostic(code="E412", message=message, path="$.extras.slurm.layout", hint=hint))
    limits = [
        1 if role.resources.gpus and by_node else job.most_per_node(role)
        for role, by_node in zip(job.roles, conditions.gpus_by_node, strict=True)
    ]
    nodes = tuple(None if most is None else evenly(count, most) for count, most in zip(slots, limits, strict=True))
    if len(job.roles) == 1:
        layout = Layout(kind="plain", reason="a job of one role")
        return Allocation(layout=layout, slots=slots, nodes=nodes, nodes_known=False)
    if len(job.roles) > MAX_COMPONENTS:
        message = f"{len(job.roles)} roles exceed the {MAX_COMPONENTS} components that srun can address"
        hint = "describe the partition's nodes in the site profile: the shared layout has no such limit"
        raise PlanError(Diagnostic(code="E413", message=message, path="$.taskRoles", hint=hint))
    reason = "the nodes are unknown, so each role has a component that Slurm packs"
    other = OtherLayout(kind="shared", why_not="it needs a site profile that describes the nodes")
    layout = Layout(kind="het", reason=reason, other=other)
    return Allocation(layout=layout, slots=slots, nodes=nodes, nodes_known=False)


def _stated_slots(job: Job) -> tuple[int, ...]:
    """Return, by role, how many tasks may run at a time: all with gang allocation, else at most the stated `slots`."""
    if job.gang:
        return tuple(role.instances for role in job.roles)
    wanted_slots = [role.slurm_options.slots or job.slurm_options.job.slots or role.instances for role in job.roles]
    return tuple(min(requested, role.instances) for requested, role in zip(wanted_slots, job.roles, strict=True))


def _slots_that_fit(job: Job, allocate: Callable[[tuple[int, ...]], Allocation | None]) -> Allocation | None:
    """Try the slots of the job file. If a job without gang allocation does not fit, find the highest limit that fits.

    The limit is the same for all roles. Return None if nothing fits.
    """
    slots = _stated_slots(job)
    best = allocate(slots)
    if best is not None or job.gang:
        return best
    low, high = 1, max(slots)
    while low < high:
        limit = (low + high) // 2
        found = allocate(tuple(min(limit, count) for count in slots))
        if found is not None:
            best = found
            low = limit + 1
        else:
            high = limit
    return best


def _demands(job: Job, slots: tuple[int, ...], conditions: Conditions, *, batch: bool = True) -> list[Demand]:
    """Return the demand of each role. With `batch`, that of the first role includes the memory of the batch script."""
    return [
        Demand(
            slots=count,
            resources=role.resources,
            extra_memory_mib=conditions.batch_memory_mib if batch and not position else 0,
            most_per_node=job.most_per_node(role),
            gpu_type=conditions.gpu_types[position],
            constraint=conditions.constraints[position],
        )
        for position, (role, count) in enumerate(zip(job.roles, slots, strict=True))
    ]


def _plain(job: Job, partition: Partition, conditions: Conditions) -> Allocation:
    def allocate(slots: tuple[int, ...]) -> Allocation | None:
        nodes = nodes_for(partition.nodes, _demands(job, slots, conditions)[0])
        layout = Layout(kind="plain", reason="a job of one role")
        return None if nodes is None else Allocation(layout=layout, slots=slots, nodes=(nodes,))

    found = _slots_that_fit(job, allocate) or _uneven(job, partition, conditions)
    if found is None:
        raise PlanError(role_too_large(job, 0, partition, conditions))
    return found


def _uneven(job: Job, partition: Partition, conditions: Conditions) -> Allocation | None:
    """Let Slurm pack the tasks of a role, with different numbers of tasks on the nodes.

    Return None if they do not fit, or if Slurm needs the same number on each: it counts their GPUs by node, or has a
    limit of tasks per node, which each node must hold.
    """
    (demand,) = _demands(job, _stated_slots(job), conditions)
    room = sum(shape.count * node_capacity(shape, demand) for shape in partition.nodes)
    if (
        demand.slots > room
        or demand.most_per_node is not None
        or (demand.resources.gpus and conditions.gpus_by_node[0])
    ):
        return None
    layout = Layout(kind="plain", reason="a job of one role, with different numbers of tasks on its nodes")
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
    count = node_count(partitions)
    return "the only node" if count == 1 else f"the {count} nodes"


def _shared(
    job: Job, partitions: Sequence[Partition], slots: tuple[int, ...], conditions: Conditions
) -> Allocation | None:
    shapes = [
        shape.model_copy(update={"memory_mib": shape.memory_mib - conditions.batch_memory_mib})
        for shape in partitions[0].nodes
    ]
    packing = pack(shapes, _demands(job, slots, conditions, batch=False), job.slurm_options.spare)
    if packing is None:
        return None
    reason = f"all roles share {packing.nodes} of {_nodes(partitions)}"
    layout = Layout(kind="shared", reason=reason)
    return Allocation(layout=layout, slots=slots, nodes=(None,) * len(slots), packing=packing)


def _choose_feasible(
    job: Job, partitions: Sequence[Partition], conditions: Conditions, het: _Candidate, shared: _Candidate
) -> Allocation:
    """Return the layout that can start, or the better one. Raises PlanError if none can."""
    if het.allocation and shared.allocation:
        if conditions.only_layout == "shared":
            return with_reason(shared.allocation, "its MPI world cannot span components")
        if conditions.only_layout == "het":
            return het.allocation
        return prefer(job.roles, het.allocation, shared.allocation, conditions)
    if shared.allocation:
        return with_reason(shared.allocation, het.why_not)
    if het.allocation:
        return het.allocation
    raise PlanError(infeasible(job, partitions, conditions))


def _as_requested(job: Job, partitions: Sequence[Partition], found: _Candidate, requested: LayoutKind) -> Allocation:
    if found.allocation is None:
        why = f": its {len(job.roles)} components share no node" if requested == "het" else ""
        message = (
            f"the requested layout {requested} can never start on "
            f"{counted(node_count(partitions), 'node')} of {names(partitions)}{why}"
        )
        hint = "remove extras.slurm.layout, so that the planner chooses the layout"
        raise PlanError(Diagnostic(code="E411", message=message, path="$.extras.slurm.layout", hint=hint))
    return with_reason(found.allocation, "the job requests it")
