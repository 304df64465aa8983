"""Which folders of the site a job's storages are, and what its tasks make sure of before anything else.

Without a container nothing can be mounted: a storage has to be where the job looks for it, on every node, and a task
that does not find it there says so and fails. Source: PAI protocol v2, extras.storages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import Diagnostic, PlanError, did_you_mean
from ..job import Prerequisite, Script

if TYPE_CHECKING:
    from ..job import Job, Lines
    from ..site.profile import Site

_PATH = "$.extras.storages"
Mount = tuple[str, str, str]
"""Whether it is the user's own part of a storage (`own`, else `all`), its path on the nodes, and where it is wanted."""


def mounts(job: Job, site: Site) -> tuple[tuple[Mount, ...], tuple[Diagnostic, ...]]:
    """Return the storages of a job by the site profile, and warnings; PlanError for one that the site does not have."""
    if job.storages is None:
        return (), ()
    if not job.storages.wanted:
        found = {name: f"/mnt/{name}" for name, storage in site.storages.items() if storage.default}
    else:
        found = {wanted.name: wanted.mount_path for wanted in job.storages.wanted}
    if not found:
        message = "the job asks for its user's default storages, and the site profile has none"
        hint = "name the storages that it needs, `storages: [{name: ...}]`, or leave this out"
        return (), (Diagnostic(code="W405", message=message, path=_PATH, hint=hint),)
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
    moved: list[str] = []
    for name, mount in found.items():
        storage = site.storages.get(name)
        made.append(("own" if storage and not storage.shared else "all", storage.path if storage else mount, mount))
        if storage is None or not storage.shared or storage.path != mount:
            moved.append(f"{name} at {mount}")
    if not moved or site.containers.runtime != "none":
        return tuple(made), ()
    message = f"tasks run on the node itself, where each storage must be in its place already: {', '.join(moved)}"
    hint = "have a link there on every node, or write the path that the nodes know as its `mountPath`"
    return tuple(made), (Diagnostic(code="W406", message=message, path=_PATH, hint=hint),)


def storage_prerequisite(found: tuple[Mount, ...], site: Site, lines: Lines) -> Prerequisite:
    """Return what a task runs first to make sure of its storages.

    Where the site says nothing of storages, one that is missing is told, and the commands find out what it means.
    """
    settings = (("MOUNTS", "\n".join("\t".join(mount) for mount in found)),)
    script = Script(phase="start", program="storages", settings=settings)
    return Prerequisite(
        name="storages", kind="plugin", scripts=(script,), lines=lines, ignore_failure=not site.storages
    )
