"""How each role runs, and in which order the scripts of prerequisites and plugins run around its commands.

Source: PAI issue 5145 for `require`; PAI runtime for the order of the rest.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .containers import storage_prerequisite, workdir
from .environment import role_variables, variable_names
from .infiniband import infiniband_of_roles
from .plan import HookScript, RolePlan
from .slurm.components import step_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..job import Hooks, Phase, Prerequisite
    from .infiniband import RoleInfiniband
    from .layout.layout import Allocation
    from .mpi import Worlds
    from .slurm.request import Request


def role_plans(request: Request, allocation: Allocation, worlds: Worlds) -> tuple[RolePlan, ...]:
    """Return how each role runs."""
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
            request.sized.roles[position],
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
        image_plan=request.images[position],
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


def ordered_hooks(hooks: Hooks) -> tuple[Prerequisite, ...]:
    """Return what runs around the commands, in the order of the start.

    What a prerequisite requires comes before it, depth first and once; plugins come last. A requirement that is
    not known does nothing. The requirements have no cycle: validation refuses one.
    """
    known = {each.name: each for each in hooks.resolved}
    found: dict[str, Prerequisite] = {}
    for name in hooks.requested:
        _add(name, known, found)
    return (*found.values(), *hooks.plugins)


def _add(name: str, known: Mapping[str, Prerequisite], found: dict[str, Prerequisite]) -> None:
    """Add a prerequisite after all that it requires; without recursion, because a chain may be long."""
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
    """Return the scripts that run before the commands, and those that run after them: in reverse.

    Of one prerequisite, the scripts for success and failure run before the one for any end.
    """
    numbered = tuple(enumerate(ordering))
    before = tuple(step for number, each in numbered for step in _of(number, each, "start"))
    after = tuple(
        step for number, each in reversed(numbered) for step in _of(number, each, "success", "failure", "exit")
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
