"""Plans of roles, and the order of the hooks around their commands.

Source: PAI issue 5145 for `require`; PAI runtime for the order of the rest.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .environment import role_variables, variable_names
from .infiniband import infiniband_of_roles
from .job_plan import HookScript, RolePlan
from .mounts import storage_prerequisite, workdir
from .preflight import preflight_of
from .slurm.components import mismatch_action, own_step_options, step_options, with_spare_nodes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..job import Hooks, Job, Phase, Prerequisite
    from ..slurm_options import Progress
    from .infiniband import RoleInfiniband
    from .layout.layout import Allocation
    from .mpi import Worlds
    from .slurm.request import Request


def role_plans(request: Request, allocation: Allocation, worlds: Worlds) -> tuple[RolePlan, ...]:
    """Return the plan of each role."""
    each = enumerate(zip(variable_names(request.job), infiniband_of_roles(request.job, request.site), strict=True))
    return tuple(
        _role(request, allocation, worlds, position, names=names, infiniband=infiniband)
        for position, (names, infiniband) in each
    )


def _role(
    request: Request,
    allocation: Allocation,
    worlds: Worlds,
    position: int,
    *,
    names: tuple[str, ...],
    infiniband: RoleInfiniband | None,
) -> RolePlan:
    job, site = request.job, request.site
    role, nodes, packing = job.roles[position], allocation.nodes[position], allocation.packing
    ranks = worlds.get(position)
    hooks = ordered_hooks(role.hooks)
    if request.mounts and job.storages and site.containers.row is None:
        hooks = (storage_prerequisite(request.mounts, site, job.storages.lines), *hooks)
    (before, after), (most, even) = hook_scripts(hooks), _tasks_per_node(allocation, position)
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
        step_options=with_spare_nodes(
            job,
            site,
            step_options(
                request.sized.roles[position],
                site,
                shared=packing is not None,
                gpu_type=request.asked[position].target.gpu_type,
                tasks_per_node=most,
                even=even,
                ranks=ranks.count if ranks else 1,
            ),
            own_step_options(job, role, site),
        ),
        on_mismatch=mismatch_action(job, role, site),
        resources=role.resources,
        ports=role.ports,
        completion=role.completion,
        task_retry_limit=role.task_retry_limit,
        ranks=ranks.count if ranks else 0,
        mpi_world=ranks.mpi_world if ranks else None,
        image=role.image,
        image_plan=request.images[position],
        before=before,
        command=role.command,
        after=after,
        environment=(*role_variables(job, role), *(infiniband.variables if infiniband else ())),
        workdir=workdir(job, role, site),
        progress=(guard := progress(job, position)),
        progress_group=progress_group(job, position) if guard else None,
        infiniband=infiniband,
        preflight=preflight_of(job, role, site, infiniband),
        lines=role.lines,
    )


def progress(job: Job, position: int) -> Progress | None:
    """Return the stall guard of a role, None for none."""
    chosen = job.roles[position].slurm_options.progress or job.slurm_options.job.progress
    return chosen if chosen and chosen.within else None


def progress_group(job: Job, position: int) -> int:
    """Return the first role that has the same stall guard: the job's, or this role's own."""
    if job.roles[position].slurm_options.progress:
        return position
    return next(number for number, role in enumerate(job.roles) if not role.slurm_options.progress)


def _tasks_per_node(allocation: Allocation, position: int) -> tuple[int, bool]:
    """Return the most tasks of a role on a node, and whether each of its nodes has as many."""
    nodes, packing = allocation.nodes[position], allocation.packing
    if packing is not None:
        counts = {each.slots for each in packing.placements[position]}
        return max(counts), len(counts) == 1
    if nodes is None:
        return 1, False
    return nodes.tasks_per_node, nodes.count * nodes.tasks_per_node == allocation.slots[position]


def folder_name(name: str) -> str:
    """Return a role's name as the name of a folder: a v1 role may be called `..`, or have a very long name."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)[:100]


def ordered_hooks(hooks: Hooks) -> tuple[Prerequisite, ...]:
    """Return the prerequisites and plugins of a role in the order of their start.

    Requirements come first, depth first and once; plugins come last. An unknown requirement has no
    effect. The requirements have no cycle: validation refuses cycles.
    """
    known = {each.name: each for each in hooks.resolved}
    found: dict[str, Prerequisite] = {}
    for name in hooks.requested:
        _add(name, known, found)
    return (*found.values(), *hooks.plugins)


def _add(name: str, known: Mapping[str, Prerequisite], found: dict[str, Prerequisite]) -> None:
    """Add a prerequisite after its requirements; without recursion, because a chain may be long."""
    stack = [(name, iter(known[name].requires))] if name in known else []
    while stack:
        current, rest = stack[-1]
        wanted = next((each for each in rest if each in known and each not in found), None)
        if wanted is not None:
            stack.append((wanted, iter(known[wanted].requires)))
        else:
            found.setdefault(current, known[current])
            stack.pop()


def hook_scripts(ordering: tuple[Prerequisite, ...]) -> tuple[tuple[HookScript, ...], tuple[HookScript, ...]]:
    """Return the hooks before the commands, and those after the commands, which run in reverse order.

    The hooks for any end come last, because hooks for success can still fail the task.
    """
    numbered = tuple(enumerate(ordering))
    before = tuple(step for number, each in numbered for step in _of(number, each, "start"))
    back = tuple(reversed(numbered))
    after = tuple(
        step
        for moments in (("success", "failure"), ("exit",))
        for number, each in back
        for step in _of(number, each, *moments)
    )
    return before, after


def _of(number: int, prerequisite: Prerequisite, *moments: Phase) -> list[HookScript]:
    return [
        HookScript(
            phase=phase,
            number=number,
            name=prerequisite.name,
            kind=prerequisite.kind,
            ignore_failure=prerequisite.ignore_failure,
            script=script,
            lines=prerequisite.lines,
        )
        for phase in moments
        for script in prerequisite.scripts
        if script.phase == phase
    ]
