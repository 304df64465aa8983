"""The placement of a job: its nodes in order, with the tasks that the runtime starts on each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...plural import counted
from ..layout.capacity import is_satisfied, whole_cores
from ..slurm.request import asked_of
from ..slurm.target import virtual_cluster
from .model import JobPlacement, PlacedDomain, PlacedNode, PlacedTask
from .near import NOTHING, chosen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ...job import Job, Resources
    from ...site.partitions import Shape
    from ...site.profile import Site
    from ..plan import Component, Plan, RolePlan
    from ..slurm.request import Asked
    from .model import Far
    from .near import Chosen

_Tasks = list[tuple["RolePlan", range]]
"""The roles on a node, each with the indexes of its tasks."""


def placement(plan: Plan, job: Job, site: Site) -> JobPlacement:
    """Return the placement of a job by its plan; `job` and `site` are those of the plan."""
    asked = asked_of(job, virtual_cluster(job, site), site)
    sized = whole_cores(job, site, [each.partition for each in asked]).roles
    wanted = [role.resources for role in sized]
    nodes: list[PlacedNode] = []
    notes: list[str] = [] if plan.gang else ["tasks take turns in slots; the numbers of tasks are those of their slots"]
    for number, component in enumerate(plan.components):
        roles = [plan.roles[position] for position in component.roles]
        if component.nodes is None:
            notes += (
                f"Slurm chooses the nodes of the {counted(role.slots, 'task')} of {role.name}: {_amounts(role)} each"
                for role in roles
            )
            continue
        notes += (
            f"Slurm chooses which nodes get fewer than {counted(role.tasks_per_node, 'task')} of {role.name}; here the"
            " last node does"
            for role in roles
            if role.tasks_per_node and role.slots % role.tasks_per_node
        )
        on_nodes = _tasks_by_node(component, roles)
        shape = _shape([asked[role.position] for role in roles], on_nodes, wanted, site)
        nodes += [_node(len(nodes) + k, number, shape, tasks, wanted) for k, tasks in enumerate(on_nodes, 1)]
    return JobPlacement(
        job=plan.job_name,
        layout=plan.layout.kind,
        whole_nodes=site.whole_nodes,
        nodes=tuple(nodes),
        notes=tuple(notes),
    )


def _amounts(role: RolePlan) -> str:
    cpus, gpus = counted(role.resources.cpus, "CPU"), counted(role.resources.gpus, "GPU")
    return f"{cpus}, {gpus}" if role.resources.gpus else cpus


def _tasks_by_node(component: Component, roles: Iterable[RolePlan]) -> list[_Tasks]:
    """Return the tasks on each node of a component, in order; the runtime fills the nodes one after another."""
    found: list[_Tasks] = [[] for _ in range(component.nodes or 0)]
    for role in roles:
        first = 0
        for node, slots in _counts(role, len(found)):
            count = min(slots, role.slots - first)
            if count > 0:
                found[node].append((role, range(first, first + count)))
            first += count
    return found


def _counts(role: RolePlan, nodes: int) -> Iterator[tuple[int, int]]:
    """Yield the nodes with the number of slots that a role has on each."""
    if role.placement:
        yield from ((node, each.slots) for each in role.placement for node in range(each.first, each.last + 1))
    else:
        yield from ((node, role.tasks_per_node or 1) for node in range(nodes))


def _shape(asked: Sequence[Asked], on_nodes: Iterable[_Tasks], wanted: Sequence[Resources], site: Site) -> Shape | None:
    """Return the nodes that the component may get, None if there are different ones."""
    if site.takes_any_name:
        return None
    cpus, gpus = 0, 0
    for node in on_nodes:
        cpus = max(cpus, sum(len(slots) * wanted[role.position].cpus for role, slots in node))
        gpus = max(gpus, sum(len(slots) * wanted[role.position].gpus for role, slots in node))
    able = {
        each.model_copy(update={"count": 1, "memory_mib": 1, "features": None, "gres": None, "gpu_type": ""})
        for each in asked[0].partition.nodes
        if each.cpus >= cpus and each.gpus >= gpus
        if all(one.target.gpu_type in (None, "", each.gpu_type) for one in asked)
        if all(is_satisfied(one.constraint(site), each.features) for one in asked)
    }
    return able.pop() if len(able) == 1 else None


def _node(number: int, component: int, shape: Shape | None, tasks: _Tasks, wanted: Sequence[Resources]) -> PlacedNode:
    placed: list[PlacedTask] = []
    notes: list[str] = []
    for role, slots in tasks:
        found = chosen(shape, role, len(slots), wanted[role.position]) if shape and shape.domains else NOTHING
        placed += _placed(role, slots, shape, wanted[role.position], found)
        if found.reasons:
            notes.append(f"{role.name}: {'; '.join(found.reasons)}")
    return PlacedNode(
        number=number,
        component=component,
        cpus=shape.cpus if shape else None,
        gpus=shape.gpus if shape else None,
        domains=tuple(
            PlacedDomain(number=k, cpus=each.cpus, gpus=tuple(each.gpu_numbers), adapters=each.adapters)
            for k, each in enumerate(shape.domains if shape else ())
        ),
        tasks=tuple(placed),
        notes=tuple(notes),
    )


def _placed(
    role: RolePlan, slots: range, shape: Shape | None, wanted: Resources, found: Chosen
) -> Iterator[PlacedTask]:
    ranks = max(role.ranks, 1)
    for place, index in enumerate(slots):
        seats = found.seats[place * ranks : (place + 1) * ranks] if found.seats is not None else None
        domains = None if seats is None else tuple(seat.domains for seat in seats)
        gpus = found.gpus[place] if found.gpus is not None else None
        yield PlacedTask(
            role=role.name,
            index=index,
            cpus=wanted.cpus,
            gpus=wanted.gpus,
            rank_domains=domains,
            gpu_numbers=gpus if wanted.gpus else (),
            far=tuple(_far(shape, domains, gpus or (), on_infiniband=role.resources.infiniband)) if shape else (),
        )


def _far(
    shape: Shape, rank_domains: tuple[tuple[int, ...], ...] | None, gpus: tuple[int, ...], *, on_infiniband: bool
) -> Iterator[Far]:
    """Yield what is far from the CPUs of a rank, or from the GPUs of a task."""
    of_gpus = {number for number, each in enumerate(shape.domains) if set(each.gpu_numbers) & set(gpus)}
    of_cpus = {domain for domains in rank_domains or () for domain in domains}
    if of_gpus and any(of_gpus.isdisjoint(domains) for domains in rank_domains or ()):
        yield "gpu"
    with_adapters = {number for number, each in enumerate(shape.domains) if each.adapters}
    near = of_gpus or of_cpus
    if on_infiniband and with_adapters and near and with_adapters.isdisjoint(near):
        yield "adapter"
