"""Containers of tasks: their mounts, and the features that a runtime does not support.

Without a container nothing can be mounted: a storage must already have the job's path on every node, and a task
that does not find it there fails with a message. Source: PAI protocol v2, extras.storages.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from ..errors import Diagnostic, PlanError, did_you_mean
from ..job import Prerequisite, Script
from ..site.containers import NO_CONTAINERS
from .environment import parts
from .job_plan import ContainerPlan, Mount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..job import Job, Lines, Role
    from ..site.containers import ContainerRuntime
    from ..site.profile import Site

_DEFAULT_SHM_MIB = 64
"""Jobs of protocol v1 declare this size unless they request another. Source: PAI rest-server, shmMB of protocol v1."""


def container_plan(job: Job, site: Site, found: tuple[Mount, ...]) -> ContainerPlan:
    """Return the container settings of a job; `found` are its storages."""
    settings, row = site.containers, site.containers.row
    if row is None:
        return ContainerPlan(runtime=NO_CONTAINERS)
    return ContainerPlan(
        runtime=row.name,
        mounts=(*(("all", path, path) for path in _folders(site)), *found),
        cache=None if row.own_store else settings.cache or None,
        shared=settings.cache_shared and not row.own_store,
        certificates=settings.certificates or None,
        logins=job.logins,
        login_file=parts(job.auth_file, job, site) if job.auth_file else (),
    )


def _folders(site: Site) -> tuple[str, ...]:
    """Return the folders to mount under the same path; they include a default file system that is a folder."""
    root = site.default_file_system if site.default_file_system.startswith("/") else ""
    return tuple(dict.fromkeys((*site.containers.mounts, *filter(None, [root]))))


def workdir(job: Job, role: Role, site: Site) -> str:
    """Return the working directory of a role's commands: from the role, else from the job, else from the site."""
    return role.slurm_options.workdir or job.slurm_options.job.workdir or site.workdir


def is_of_submit(folder: str) -> bool:
    """Whether a workdir is the submit folder, or below it."""
    return folder == "submit" or folder.startswith("./")


def container_warnings(job: Job, site: Site, found: tuple[Mount, ...]) -> tuple[Diagnostic, ...]:
    """Warn that no container is used, unless the profile says `none`, or of features that the runtime does not support.

    `found` are the storages.
    """
    row = site.containers.row
    if row is not None:
        points = [*_folders(site), *(point for _, _, point in found)]
        return (*_shortcomings(job, row), *_unmounted(job, site, points))
    if "runtime" in site.containers.model_fields_set:
        return ()
    message = (
        "the container image is not used: tasks run on the node itself, because no site profile names a container "
        "runtime; the programs of the job must be on the node"
    )
    hint = "set `containers.runtime` in the site profile; with `none`, this warning is not printed"
    return (Diagnostic(code="W402", message=message, path=job.paths.images, hint=hint),)


def _unmounted(job: Job, site: Site, points: list[str]) -> Iterator[Diagnostic]:
    """Warn of a workdir that the site does not mount into containers; `submit` is always mounted."""
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
        message = f"the site does not mount {folder}: the image of role {', '.join(names)} must contain this folder"
        hint = "add it to `containers.mounts` in the site profile"
        yield Diagnostic(code="W424", message=message, path=path, hint=hint)


def _shortcomings(job: Job, row: ContainerRuntime) -> Iterator[Diagnostic]:
    path = "$.taskRoles"
    if not row.sizes_shm:
        most = max(role.resources.declared_shm_mib for role in job.roles)
        message = f"{row.name} gives tasks the node's /dev/shm, not one of {most} MiB"
        if most > _DEFAULT_SHM_MIB:
            yield Diagnostic(code="W423", message=message, path=path)
    if row.warning:
        yield Diagnostic(code="W423", message=row.warning, path=path, hint=row.hint)


def mounts(job: Job, site: Site) -> tuple[Mount, ...]:
    """Return the storages of a job by the site profile; PlanError for an unknown storage."""
    if job.storages is None:
        return ()
    if not job.storages.wanted:
        found = {name: f"/mnt/{name}" for name, storage in site.storages.items() if storage.default}
    else:
        found = {wanted.name: wanted.mount_path for wanted in job.storages.wanted}
    missing = [name for name in found if name not in site.storages]
    if missing and site.storages:
        message = f"the site has no storage {missing[0]!r}; it has {', '.join(site.storages)}"
        hint = did_you_mean(missing[0], site.storages)
        raise PlanError(Diagnostic(code="E404", message=message, path=job.storages.path, hint=hint))
    made: list[Mount] = []
    for name, mount in found.items():
        storage = site.storages.get(name)
        made.append(("own" if storage and not storage.shared else "all", storage.path if storage else mount, mount))
    return tuple(made)


def storage_warnings(job: Job, site: Site, found: tuple[Mount, ...]) -> tuple[Diagnostic, ...]:
    """Warn of default storages that the site lacks, and of storages that must already be on the nodes."""
    if job.storages is None:
        return ()
    if not found:
        message = "the job requests default storages, but the site profile has none"
        hint = "list the storages, `storages: [{name: ...}]`, or remove this"
        return (Diagnostic(code="W405", message=message, path=job.storages.path, hint=hint),)
    names = [wanted.name for wanted in job.storages.wanted] or [n for n, each in site.storages.items() if each.default]
    moved = [
        f"{name} at {point}"
        for name, (whose, path, point) in zip(dict.fromkeys(names), found, strict=True)
        if name not in site.storages or whose == "own" or path != point
    ]
    if not moved or site.containers.runtime != NO_CONTAINERS:
        return ()
    message = f"tasks run on the node itself, so these folders of storages must exist there: {', '.join(moved)}"
    hint = "write its path on the nodes as `mountPath` of `extras.storages`, or ask the administrator for a link"
    return (Diagnostic(code="W406", message=message, path=job.storages.path, hint=hint),)


def storage_prerequisite(found: tuple[Mount, ...], site: Site, lines: Lines) -> Prerequisite:
    """Return the hook that checks the storages of a job before the commands.

    If the site profile lists no storages, a missing one is only reported.
    """
    settings = (("MOUNTS", "\n".join("\t".join(mount) for mount in found)),)
    script = Script(phase="start", program="storages", settings=settings)
    return Prerequisite(
        name="storages", kind="plugin", scripts=(script,), lines=lines, ignore_failure=not site.storages
    )
