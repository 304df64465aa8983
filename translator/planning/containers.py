"""How the tasks of a job are put into containers, what of the nodes they see there, and what a runtime cannot do.

Without a container nothing can be mounted: a storage has to be where the job looks for it, on every node, and a task
that does not find it there says so and fails. Source: PAI protocol v2, extras.storages.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from ..errors import Diagnostic, PlanError, did_you_mean
from ..job import Prerequisite, Script
from ..site.containers import NO_CONTAINERS
from .environment import parts
from .plan import ContainerPlan, Mount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..job import Job, Lines, Role
    from ..site.containers import ContainerRuntime
    from ..site.profile import Site

_PATH = "$.extras.storages"


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


def mounts(job: Job, site: Site) -> tuple[Mount, ...]:
    """Return the storages of a job by the site profile; PlanError for one that the site does not have."""
    if job.storages is None:
        return ()
    if not job.storages.wanted:
        found = {name: f"/mnt/{name}" for name, storage in site.storages.items() if storage.default}
    else:
        found = {wanted.name: wanted.mount_path for wanted in job.storages.wanted}
    missing = [name for name in found if name not in site.storages]
    if missing and site.storages:
        raise PlanError(
            Diagnostic(
                code="E404",
                message=f"the site has no storage {missing[0]!r}; it has {', '.join(site.storages)}",
                path=_PATH,
                hint=did_you_mean(missing[0], site.storages),
            )
        )
    made: list[Mount] = []
    for name, mount in found.items():
        storage = site.storages.get(name)
        made.append(("own" if storage and not storage.shared else "all", storage.path if storage else mount, mount))
    return tuple(made)


def storage_warnings(job: Job, site: Site, found: tuple[Mount, ...]) -> tuple[Diagnostic, ...]:
    """Warn of default storages that the site does not have, and of what must be in its place without containers."""
    if job.storages is None:
        return ()
    if not found:
        message = "the job asks for its user's default storages, and the site profile has none"
        hint = "name the storages that it needs, `storages: [{name: ...}]`, or leave this out"
        return (Diagnostic(code="W405", message=message, path=_PATH, hint=hint),)
    names = [wanted.name for wanted in job.storages.wanted] or [n for n, each in site.storages.items() if each.default]
    moved = [
        f"{name} at {point}"
        for name, (whose, path, point) in zip(dict.fromkeys(names), found, strict=True)
        if name not in site.storages or whose == "own" or path != point
    ]
    if not moved or site.containers.runtime != NO_CONTAINERS:
        return ()
    message = f"tasks run on the node itself, where each storage must be in its place already: {', '.join(moved)}"
    hint = "have a link there on every node, or write the path that the nodes know as its `mountPath`"
    return (Diagnostic(code="W406", message=message, path=_PATH, hint=hint),)


def storage_prerequisite(found: tuple[Mount, ...], site: Site, lines: Lines) -> Prerequisite:
    """Return what a task runs first to make sure of its storages.

    Where the site says nothing of storages, one that is missing is told, and the commands find out what it means.
    """
    settings = (("MOUNTS", "\n".join("\t".join(mount) for mount in found)),)
    script = Script(phase="start", program="storages", settings=settings)
    return Prerequisite(
        name="storages", kind="plugin", scripts=(script,), lines=lines, ignore_failure=not site.storages
    )
