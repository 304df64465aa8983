"""Native MPI launch: the roles whose commands srun starts as ranks of one world, and whether it can.

Source: this project's docs, `extras.slurm.mpi`; srun(1), --mpi, --het-group.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from ..errors import Diagnostic, PlanError, did_you_mean
from .job_plan import MpiWorld
from .slurm.components import own_step_options, step_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..job import Job, Role
    from ..site.profile import Site
    from ..slurm_options import Mpi
    from .layout.layout import LayoutKind

DEFAULT_PLUGIN = "pmix"
"""The plugin if neither the job nor the site names one."""
_PATH = "$.extras.slurm.mpi"


class RankCount(Struct, frozen=True, kw_only=True):
    """The number of ranks per task of a role, and their world."""

    count: int
    mpi_world: MpiWorld


Worlds = Mapping[int, RankCount]
"""The ranks of roles by their position."""


def has_several_ranks(job: Job, role: Role) -> bool:
    """Whether a task of the role may have several ranks; then a step cannot count its GPUs by task."""
    return any(
        requested is not None and requested.ranks > 1
        for requested in (job.slurm_options.job.mpi, role.slurm_options.mpi)
    )


def mpi_worlds(job: Job, site: Site, layout: LayoutKind) -> Worlds:
    """Return the ranks of each role in a world, by position; PlanError for an impossible launch."""
    found = _ranks(job, site)
    # The comparison of srun options assumes a CPU for each rank.
    diagnostics = [*_unsupported(job, site, found), *_too_few_cpus(job, found)] if found else []
    if found and (diagnostics := diagnostics or [*_incompatible(job, site, found, layout)]):
        raise PlanError(diagnostics)
    return found


def mpi_warnings(job: Job, site: Site, layout: LayoutKind, found: Worlds) -> Iterator[Diagnostic]:
    """Warn of a world over components, of plugins that srun may lack, and of images whose MPI may lack PMIx.

    Observed on Slurm 22.05 with PMIx 4: if the nodes of a later component sort before those of an earlier one, nodes
    do not find each other, and no rank leaves MPI_Init.
    """
    if layout == "het" and any(len(ranks.mpi_world.roles) > 1 for ranks in found.values()):
        message = (
            "ranks in different components may wait for each other for ever: some versions of Slurm confuse the nodes "
            "of components"
        )
        hint = "write `layout: shared` under `extras.slurm`: the job then has one component"
        if not is_feasible(job, site, "shared"):
            hint = (
                "request equal CPUs, memory and GPUs for all ranks, and one rank for each task with GPUs; then "
                "`layout: shared` gives the job one component"
            )
        yield Diagnostic(code="W414", message=message, path=_path_of_first(job), hint=hint)
    if found and site.mpi is None:
        plugins = ", ".join(dict.fromkeys(ranks.mpi_world.plugin for ranks in found.values()))
        message = f"the MPI plugin {plugins} may be missing on this site"
        hint = "list the plugins with `srun --mpi=list`, and add them to the site profile: `mpi: [pmix, pmi2]`"
        yield Diagnostic(code="W413", message=message, path=_path_of_first(job), hint=hint)
    if site.containers.row is not None and "pmi2" in (site.mpi or ("pmi2",)):
        yield from _images_without_pmix(job, found)


def _images_without_pmix(job: Job, found: Worlds) -> Iterator[Diagnostic]:
    """Warn of images whose MPI may not know PMIx, unless the job file names the plugin itself."""
    whole = job.slurm_options.job.mpi
    pmix = [
        position
        for position, ranks in found.items()
        if ranks.mpi_world.plugin.startswith("pmix") and not _names_plugin(job.roles[position].slurm_options.mpi)
    ]
    if pmix and not _names_plugin(whole):
        images = ", ".join(dict.fromkeys(job.roles[position].image.uri for position in pmix))
        message = f"the MPI of the image must know PMIx ({images}); otherwise each rank is rank 0 of 1"
        hint = "if its MPI knows PMI-2, such as MPICH of Debian, write `mpi: {plugin: pmi2}`"
        yield Diagnostic(code="W415", message=message, path=_path_of_first(job), hint=hint)


def _names_plugin(requested: Mpi | None) -> bool:
    return requested is not None and bool(requested.plugin)


def has_pmix(job: Job, site: Site) -> bool:
    """Whether srun starts ranks by PMIx."""
    return any(ranks.mpi_world.plugin.startswith("pmix") for ranks in _ranks(job, site).values())


def is_feasible(job: Job, site: Site, layout: LayoutKind) -> bool:
    """Whether a layout permits the job's worlds."""
    try:
        mpi_worlds(job, site, layout)
    except PlanError:
        return False
    return True


def _ranks(job: Job, site: Site) -> dict[int, RankCount]:
    slurm_options = {position: role.slurm_options.mpi for position, role in enumerate(job.roles)}
    members = _world_roles(job)
    in_world = set(members)
    found: dict[int, RankCount] = {}
    for group in (
        members,
        *((position,) for position, requested in slurm_options.items() if requested and position not in in_world),
    ):
        if group:
            requested = job.slurm_options.job.mpi if group == members else None
            found |= _mpi_world(job, site, group, requested)
    return found


def _world_roles(job: Job) -> tuple[int, ...]:
    """Return the positions of the roles that the job joins in one world."""
    requested = job.slurm_options.job.mpi
    if requested is None:
        return ()
    names = [role.name for role in job.roles]
    for name in requested.roles or ():
        if name not in names:
            hint = did_you_mean(name, names)
            message = f"the job has no role {name!r}; it has {', '.join(names)}"
            raise PlanError(Diagnostic(code="E417", message=message, path=f"{_PATH}.roles", hint=hint))
    return tuple(k for k, name in enumerate(names) if requested.roles is None or name in requested.roles)


def _mpi_world(job: Job, site: Site, group: tuple[int, ...], whole: Mpi | None) -> dict[int, RankCount]:
    """Return the ranks of the roles of one world; a role's settings override the job's."""
    slurm_options = {position: job.roles[position].slurm_options.mpi for position in group}
    named = {requested.plugin for requested in (whole, *slurm_options.values()) if requested and requested.plugin}
    if len(named) > 1:
        message = f"the roles of one world use different plugins: {' and '.join(sorted(named))}"
        raise PlanError(Diagnostic(code="E417", message=message, path=_PATH))
    offered = site.mpi
    plugin = named.pop() if named else (offered or (DEFAULT_PLUGIN,))[0]
    if offered is not None and plugin not in offered:
        there = f"it has {', '.join(offered)}" if offered else "it has none"
        use = f"write `plugin: {offered[0]}`; or " if offered else ""
        hint = did_you_mean(plugin, offered) or f"{use}remove `mpi`, and start the ranks with mpirun by ssh"
        message = f"the site has no MPI plugin {plugin!r}; {there}"
        raise PlanError(Diagnostic(code="E416", message=message, path=_path_of_first(job), hint=hint))
    mpi_world = MpiWorld(plugin=plugin, roles=group)
    counts = {
        position: (requested.ranks if requested else 0) or (whole.ranks if whole else 0) or 1
        for position, requested in slurm_options.items()
    }
    return {position: RankCount(count=count, mpi_world=mpi_world) for position, count in counts.items()}


def _path_of_first(job: Job) -> str:
    if job.slurm_options.job.mpi is not None:
        return _PATH
    return next(f"$.extras.slurm.taskRoles.{role.name}.mpi" for role in job.roles if role.slurm_options.mpi)


def _unsupported(job: Job, site: Site, found: Worlds) -> Iterator[Diagnostic]:
    path = _path_of_first(job)
    if not job.gang:
        message = "ranks of one world start together, but without gang allocation tasks take turns"
        hint = "remove `gangAllocation: false`, or `mpi`"
        yield Diagnostic(code="E417", message=message, path=path, hint=hint)
    row = site.containers.row
    if row is not None and not row.ranks_can_join and any(ranks.count > 1 for ranks in found.values()):
        message = f"several ranks cannot share the container of a task: none can join a container of {row.name}"
        hint = "write `ranksPerInstance: 1` and more instances; or remove `mpi`, and start the ranks with mpirun by ssh"
        yield Diagnostic(code="E417", message=message, path=path, hint=hint)


def _too_few_cpus(job: Job, found: Worlds) -> Iterator[Diagnostic]:
    for position, ranks in found.items():
        role = job.roles[position]
        if role.resources.cpus < ranks.count:
            message = (
                f"{ranks.count} ranks of role {role.name} need as many CPUs, but its task has {role.resources.cpus}"
            )
            yield Diagnostic(code="E417", message=message, path=_path_of_first(job), hint="request a CPU for each rank")


def _incompatible(job: Job, site: Site, found: Worlds, layout: LayoutKind) -> Iterator[Diagnostic]:
    """Yield diagnostics for worlds that one srun cannot start: it has one set of options for an allocation.

    Observed on Slurm 22.05 with MPICH 4.0: pmi2 hangs over components; in 4 of 5 runs some ranks never left
    MPI_Finalize.
    """
    for mpi_world in dict.fromkeys(ranks.mpi_world for ranks in found.values()):
        several = len(mpi_world.roles) > 1
        names = ", ".join(job.roles[position].name for position in mpi_world.roles)
        shared = layout == "shared"
        if layout == "het" and several and mpi_world.plugin == "pmi2":
            message = f"the ranks of {names} form one world over components, where pmi2 hangs at the end"
            yield Diagnostic(
                code="E417", message=message, path=_path_of_first(job), hint="use pmix, or `layout: shared`"
            )
        options = {
            (
                *step_options(job.roles[position], site, shared=shared, ranks=found[position].count),
                *own_step_options(job, job.roles[position], site),
            )
            for position in mpi_world.roles
        }
        if shared and len(options) > 1:
            message = (
                f"in the shared layout the ranks of {names} need equal CPUs, memory, GPUs and srun options "
                "to be one world"
            )
            hint = "request the same for each rank, or set `layout: het`"
            yield Diagnostic(code="E417", message=message, path=_path_of_first(job), hint=hint)
        if shared and any(found[k].count > 1 and job.roles[k].resources.gpus for k in mpi_world.roles):
            message = f"in the shared layout several ranks of a task of {names} cannot share its GPUs"
            hint = "write `ranksPerInstance: 1`, or set `layout: het`"
            yield Diagnostic(code="E417", message=message, path=_path_of_first(job), hint=hint)
