"""Native MPI launch: which roles' commands srun starts as ranks of one world, and whether it can.

Source: this project's docs, `extras.slurm.mpi`; srun(1), --mpi, --het-group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import Fault, PlanError, did_you_mean
from .plan import World
from .slurm.options import step_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..job import Job, Role
    from ..site.profile import Site
    from ..slurm_options import Mpi
    from .layout.layout import LayoutKind

USUAL = "pmix"
"""The plugin where neither the job nor the site names one."""
_PATH = "$.extras.slurm.mpi"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """Say of a role how many ranks each of its tasks is, and of which world they are."""

    count: int
    world: World


def has_several_ranks(job: Job, role: Role) -> bool:
    """Tell whether a task of the role may be several ranks: then no step can count its GPUs by task."""
    return any(wish is not None and wish.ranks > 1 for wish in (job.wishes.job.mpi, role.wishes.mpi))


def worlds(job: Job, site: Site, layout: LayoutKind) -> tuple[Mapping[int, Ranks], tuple[Fault, ...]]:
    """Return the ranks of each role that has any, by position, with warnings; PlanError for what cannot be."""
    found = _ranks(job, site)
    if not found:
        return {}, ()
    # What srun would be asked for can be compared only where each rank has a CPU.
    faults = [*_cannot_be(job, site), *_too_small(job, found)] or [*_do_not_go_together(job, site, found, layout)]
    if faults:
        raise PlanError(faults)
    warnings = tuple(_over_components(job, found, layout))
    if site.mpi is not None:
        return found, warnings
    plugins = ", ".join(dict.fromkeys(ranks.world.plugin for ranks in found.values()))
    message = f"whether srun has the MPI plugin {plugins} here is not known"
    hint = "`srun --mpi=list` shows what there is: name it in the site profile, `mpi: [pmix, pmi2]`"
    return found, (*warnings, Fault(code="W413", message=message, path=_path_of_first(job), hint=hint))


def has_pmix(job: Job, site: Site) -> bool:
    """Tell whether srun starts ranks by PMIx."""
    return any(ranks.world.plugin.startswith("pmix") for ranks in _ranks(job, site).values())


def can_be(job: Job, site: Site, layout: LayoutKind) -> bool:
    """Tell whether the job's worlds can be in a layout."""
    try:
        worlds(job, site, layout)
    except PlanError:
        return False
    return True


def _ranks(job: Job, site: Site) -> dict[int, Ranks]:
    wishes = {position: role.wishes.mpi for position, role in enumerate(job.roles)}
    members = _members(job)
    found: dict[int, Ranks] = {}
    for group in (members, *((position,) for position, wish in wishes.items() if wish and position not in members)):
        if group:
            wish = job.wishes.job.mpi if group == members else None
            found |= _world(job, site, group, wish)
    return found


def _over_components(job: Job, found: Mapping[int, Ranks], layout: LayoutKind) -> Iterator[Fault]:
    """Warn of a world over components.

    Observed on Slurm 22.05 with PMIx 4: where Slurm gives a later component nodes that come before those of an earlier
    one, the nodes do not find each other, and no rank leaves MPI_Init.
    """
    if layout == "het" and any(len(ranks.world.roles) > 1 for ranks in found.values()):
        message = (
            "ranks of several components may wait for each other for ever: some versions of Slurm mistake their nodes"
        )
        hint = "`layout: shared` under `extras.slurm` makes one component of all"
        yield Fault(code="W414", message=message, path=_path_of_first(job), hint=hint)


def _members(job: Job) -> tuple[int, ...]:
    """Return the positions of the roles that are one world by the job's own wish."""
    wish = job.wishes.job.mpi
    if wish is None:
        return ()
    names = [role.name for role in job.roles]
    for name in wish.roles or ():
        if name not in names:
            hint = did_you_mean(name, names)
            message = f"the job has no role {name!r}; it has {', '.join(names)}"
            raise PlanError(Fault(code="E417", message=message, path=f"{_PATH}.roles", hint=hint))
    return tuple(k for k, name in enumerate(names) if wish.roles is None or name in wish.roles)


def _world(job: Job, site: Site, group: tuple[int, ...], whole: Mpi | None) -> dict[int, Ranks]:
    """Return the ranks of the roles of one world; what a role says of itself goes before what the job says."""
    wishes = {position: job.roles[position].wishes.mpi for position in group}
    named = {wish.plugin for wish in (whole, *wishes.values()) if wish and wish.plugin}
    if len(named) > 1:
        message = f"the roles of one world have one plugin, not {' and '.join(sorted(named))}"
        raise PlanError(Fault(code="E417", message=message, path=_PATH))
    offered = site.mpi
    plugin = named.pop() if named else (offered or (USUAL,))[0]
    if offered is not None and plugin not in offered:
        there = f"it has {', '.join(offered)}" if offered else "it has none"
        hint = did_you_mean(plugin, offered) or "without native launch, mpirun starts ranks by the tasks' ssh"
        message = f"the site has no MPI plugin {plugin!r}; {there}"
        raise PlanError(Fault(code="E416", message=message, path=_path_of_first(job), hint=hint))
    world = World(plugin=plugin, roles=group)
    counts = {
        position: (wish.ranks if wish else 0) or (whole.ranks if whole else 0) or 1 for position, wish in wishes.items()
    }
    return {position: Ranks(count=count, world=world) for position, count in counts.items()}


def _path_of_first(job: Job) -> str:
    if job.wishes.job.mpi is not None:
        return _PATH
    return next(_path(role) for role in job.roles if role.wishes.mpi)


def _path(role: Role) -> str:
    return f"$.extras.slurm.taskRoles.{role.name}.mpi"


def _cannot_be(job: Job, site: Site) -> Iterator[Fault]:
    path = _path_of_first(job)
    if not job.gang:
        message = "ranks of one world start together, and without gang allocation tasks take turns"
        hint = "leave `gangAllocation: false` out, or `mpi`"
        yield Fault(code="E417", message=message, path=path, hint=hint)
    if site.containers.runtime != "none":
        message = f"srun cannot start ranks inside the tasks' containers ({site.containers.runtime})"
        hint = "leave `mpi` out, and start the ranks with mpirun in a task: it reaches the others by ssh"
        yield Fault(code="E417", message=message, path=path, hint=hint)


def _too_small(job: Job, found: Mapping[int, Ranks]) -> Iterator[Fault]:
    for position, ranks in found.items():
        role = job.roles[position]
        if role.resources.cpus < ranks.count:
            message = (
                f"{ranks.count} ranks of role {role.name} need as many CPUs, and a task of it has {role.resources.cpus}"
            )
            yield Fault(code="E417", message=message, path=_path_of_first(job), hint="ask for a CPU for each rank")


def _do_not_go_together(job: Job, site: Site, found: Mapping[int, Ranks], layout: LayoutKind) -> Iterator[Fault]:
    """Yield what one srun cannot do: it has one set of options for all in one allocation.

    That pmi2 hangs over components was observed on Slurm 22.05 with MPICH 4.0: in 4 of 5 runs some ranks never left
    MPI_Finalize.
    """
    for world in dict.fromkeys(ranks.world for ranks in found.values()):
        several = len(world.roles) > 1
        names = ", ".join(job.roles[position].name for position in world.roles)
        shared = layout == "shared"
        if layout == "het" and several and world.plugin == "pmi2":
            message = f"the ranks of {names} would be one world over components, at the end of which pmi2 hangs"
            yield Fault(code="E417", message=message, path=_path_of_first(job), hint="take pmix, or `layout: shared`")
        options = {
            step_options(job.roles[position], site, shared=shared, ranks=found[position].count)
            for position in world.roles
        }
        if shared and len(options) > 1:
            message = f"in the shared layout the ranks of {names} need equal CPUs, memory and GPUs to be one world"
            hint = "ask for the same for each rank, or set `layout: het`"
            yield Fault(code="E417", message=message, path=_path_of_first(job), hint=hint)
        if shared and any(found[k].count > 1 and job.roles[k].resources.gpus for k in world.roles):
            message = f"in the shared layout several ranks of a task of {names} cannot have its GPUs"
            hint = "write `ranksPerInstance: 1`, or set `layout: het`"
            yield Fault(code="E417", message=message, path=_path_of_first(job), hint=hint)
