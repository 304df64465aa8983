"""The placement of a job: its nodes in order, with the tasks that the runtime starts on each. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ...plural import counted
from ..layout.capacity import is_satisfied, whole_cores
from ..layout.layout import LayoutKind
from ..slurm.request import asked_of
from ..slurm.target import virtual_cluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ...job import Job, Resources
    from ...site.profile import Site
    from ..job_plan import Component, Plan, RolePlan
    from ..slurm.request import Asked


class PlacedTask(Struct, frozen=True, kw_only=True):
    """A task on a node."""

    role: str
    """The name of the role."""
    index: int
    """The index of the task; without gang allocation that of a slot, in which tasks take turns."""
    cpus: int
    """The number of its CPUs."""
    gpus: int
    """The number of its GPUs."""

    @property
    def name(self) -> str:
        """The name of the task, `worker-0`."""
        return f"{self.role}-{self.index}"


class PlacedNode(Struct, frozen=True, kw_only=True):
    """A node of the job with its tasks."""

    number: int
    """The number of the node in the job, from 1; it has no name before the job starts."""
    component: int
    """The number of its component, from 0."""
    cpus: int | None
    """The CPUs of the node that Slurm counts; null if the site profile does not tell which node it is."""
    gpus: int | None
    """The GPUs of the node; null like `cpus`."""
    tasks: tuple[PlacedTask, ...]
    """The tasks, role by role."""

    @property
    def unused(self) -> tuple[int, int]:
        """The CPUs and GPUs of the node that the job does not use, as far as they are known."""
        cpus, gpus = (sum(task.cpus for task in self.tasks), sum(task.gpus for task in self.tasks))
        return (max((self.cpus or 0) - cpus, 0), max((self.gpus or 0) - gpus, 0))


class JobPlacement(Struct, frozen=True, kw_only=True, rename={"layout": "layout_kind", "nodes": "placed_nodes"}):
    """The placement of a job before its start."""

    job: str
    """The job's name."""
    layout: LayoutKind
    """`plain`, `het` or `shared`."""
    whole_nodes: bool
    """Whether the job gets whole nodes, so that their other CPUs and GPUs stay idle."""
    nodes: tuple[PlacedNode, ...]
    """The nodes in order."""
    notes: tuple[str, ...]
    """What Slurm chooses: the nodes of some roles, or which nodes have fewer tasks."""


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
        size = _size([asked[role.position] for role in roles], on_nodes, wanted, site)
        nodes += [_node(len(nodes) + k, number, size, tasks, wanted) for k, tasks in enumerate(on_nodes, 1)]
    return JobPlacement(
        job=plan.job_name,
        layout=plan.layout.kind,
        whole_nodes=plan.whole_nodes,
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


def _size(
    asked: Sequence[Asked], on_nodes: Iterable[_Tasks], wanted: Sequence[Resources], site: Site
) -> tuple[int | None, int | None]:
    """Return the CPUs and GPUs of the nodes that the component may get, None if there are different ones."""
    if site.takes_any_name:
        return None, None
    cpus, gpus = 0, 0
    for node in on_nodes:
        cpus = max(cpus, sum(len(slots) * wanted[role.position].cpus for role, slots in node))
        gpus = max(gpus, sum(len(slots) * wanted[role.position].gpus for role, slots in node))
    gpu_type = next((one.target.gpu_type for one in asked if one.target.gpu_type), "")
    able = {
        (each.cpus, each.gpus)
        for shape in asked[0].partition.nodes
        for each in (shape.of_gpu_type(gpu_type),)
        if each.cpus >= cpus and each.gpus >= gpus
        if gpu_type in ("", each.gpu_type)
        if all(is_satisfied(one.constraint(site), each.features) for one in asked)
    }
    return able.pop() if len(able) == 1 else (None, None)


def _node(
    number: int, component: int, size: tuple[int | None, int | None], tasks: _Tasks, wanted: Sequence[Resources]
) -> PlacedNode:
    placed = [
        PlacedTask(role=role.name, index=index, cpus=wanted[role.position].cpus, gpus=wanted[role.position].gpus)
        for role, slots in tasks
        for index in slots
    ]
    return PlacedNode(number=number, component=component, cpus=size[0], gpus=size[1], tasks=tuple(placed))
