"""How the tasks of a job are put into containers, what of the nodes they see there, and what a runtime cannot do."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec import Struct

from ..errors import Diagnostic
from ..site.containers import CONTAINER_RUNTIMES, NO_CONTAINERS
from .directories import parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..job import Job, Role
    from ..site.containers import ContainerRuntime
    from ..site.profile import Site
    from .storages import Mount

Mounts = tuple[tuple[str, str, str], ...]


class ContainerPlan(Struct, frozen=True, kw_only=True):
    """Say how tasks are put into containers.

    `mounts` is what tasks see of the nodes: whose part (`own` or `all`), the path, and the mount point. `cache` is
    where images are kept that come from a registry, once for all nodes if it is `shared`. `logins` are the names of
    secrets with the credentials of a registry, and `login_file` a file of the user with the same, in parts between
    which stands the user's name. `certificates` is a file with what the nodes trust of registries.
    """

    runtime: str
    mounts: Mounts = ()
    cache: str = ""
    shared: bool = True
    certificates: str = ""
    logins: tuple[str, ...] = ()
    login_file: tuple[str, ...] = ()

    @property
    def sizes_shm(self) -> bool:
        """Tell whether tasks have a /dev/shm of their own size."""
        row = CONTAINER_RUNTIMES.get(self.runtime)
        return row is None or row.sizes_shm


def container_plan(job: Job, site: Site, found: tuple[Mount, ...]) -> ContainerPlan:
    """Return how the tasks of a job are put into containers; `found` are its storages."""
    settings, row = site.containers, site.containers.row
    if row is None:
        return ContainerPlan(runtime=NO_CONTAINERS)
    return ContainerPlan(
        runtime=row.name,
        mounts=(*(("all", path, path) for path in _folders(site)), *found),
        cache="" if row.own_store else settings.cache,
        shared=settings.cache_shared and not row.own_store,
        certificates=settings.certificates or "",
        logins=job.logins,
        login_file=parts(job.auth_file, job, site) if job.auth_file else (),
    )


def _folders(site: Site) -> tuple[str, ...]:
    """Return the folders that tasks see under their own paths; the default file system is one, if it is a folder."""
    root = site.default_file_system if site.default_file_system.startswith("/") else ""
    return tuple(dict.fromkeys((*site.containers.mounts, *filter(None, [root]))))


def workdir(job: Job, role: Role, site: Site) -> str:
    """Return where the commands of a role start: by its own word, else that of the job, else that of the site."""
    return role.slurm_options.workdir or job.slurm_options.job.workdir or site.workdir


def is_of_submit(folder: str) -> bool:
    """Tell whether a workdir is the folder of the submit, or one below it."""
    return folder == "submit" or folder.startswith("./")


def container_warnings(job: Job, site: Site, found: tuple[Mount, ...]) -> tuple[Diagnostic, ...]:
    """Warn that the site runs tasks on the node itself, or of what its runtime cannot do; `found` are the storages."""
    row = site.containers.row
    if row is not None:
        points = [*_folders(site), *(point for _, _, point in found)]
        return (*_shortcomings(job, row), *_unmounted(job, site, points))
    names = ", ".join(dict.fromkeys(role.image.uri for role in job.roles))
    message = (
        f"the container image is not used ({names}): tasks run on the node itself, "
        "unless the site profile has `containers` (docs/user/containers.md)"
    )
    return (Diagnostic(code="W402", message=message, path=job.paths.images),)


def _unmounted(job: Job, site: Site, points: list[str]) -> Iterator[Diagnostic]:
    """Warn of a workdir that containers have from their image or not at all; that of `submit` is mounted."""
    asked: dict[tuple[str, str], list[str]] = {}
    for role in job.roles:
        if role.slurm_options.workdir:
            path = f"$.extras.slurm.taskRoles.{role.name}.workdir"
        else:
            path = "$.extras.slurm.workdir" if job.slurm_options.job.workdir else "$.taskRoles"
        asked.setdefault((workdir(job, role, site), path), []).append(role.name)
    for (folder, path), names in asked.items():
        if folder == "task" or is_of_submit(folder) or any(PurePath(folder).is_relative_to(point) for point in points):
            continue
        message = f"the site mounts nothing at {folder}: the image of role {', '.join(names)} must have this folder"
        hint = "the site profile names folders to mount under `containers.mounts`"
        yield Diagnostic(code="W424", message=message, path=path, hint=hint)


def _shortcomings(job: Job, row: ContainerRuntime) -> Iterator[Diagnostic]:
    """Warn of what a runtime cannot do."""
    path = "$.taskRoles"
    if not row.sizes_shm:
        most = max(role.resources.shm_mib for role in job.roles)
        message = f"{row.name} gives tasks the /dev/shm of the node, of whatever size it is, not one of {most} MiB"
        yield Diagnostic(code="W423", message=message, path=path)
    if row.warning:
        yield Diagnostic(code="W423", message=row.warning, path=path, hint=row.hint)
