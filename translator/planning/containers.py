"""Which image the tasks of a role run in, and what of the nodes they see there."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from ..errors import Fault, PlanError

if TYPE_CHECKING:
    from ..job import Job
    from ..site.profile import Site
    from .storages import Mount

Mounts = tuple[tuple[str, str, str], ...]


def image_paths(job: Job, site: Site) -> tuple[str, ...]:
    """Return the path of each role's image on the nodes, "" without containers; PlanError for an image not there."""
    if site.containers.runtime == "none":
        return tuple("" for _ in job.roles)
    missing = [role.image.uri for role in job.roles if not _path(role.image.uri, site)]
    if missing:
        near = get_close_matches(missing[0], site.containers.images, n=1)
        raise PlanError(
            Fault(
                code="E415",
                message=f"the image {missing[0]!r} is not on this site",
                path="$.prerequisites" if job.protocol == "2" else "$.image",
                hint=f"did you mean {near[0]!r}?"
                if near
                else "unpack it into a folder, and name the folder in the site profile: "
                f"`containers: {{images: {{{missing[0]!r}: /path}}}}`",
            )
        )
    return tuple(_path(role.image.uri, site) for role in job.roles)


def _path(uri: str, site: Site) -> str:
    """Return where an image is: an absolute path is its own, a reference is looked up with and without `docker://`."""
    if uri.startswith("/"):
        return uri
    images = site.containers.images
    return images.get(uri) or images.get(uri.removeprefix("docker://")) or ""


def container_mounts(site: Site, found: tuple[Mount, ...]) -> Mounts:
    """Return what is mounted beside the job's own folder: `(whose, path, mount point)`, in the order of mounting.

    The default file system is among it, if it is a folder.
    """
    if site.containers.runtime == "none":
        return ()
    root = site.default_file_system if site.default_file_system.startswith("/") else ""
    own = dict.fromkeys((*site.containers.mounts, *filter(None, [root])))
    return (*(("all", path, path) for path in own), *found)


def not_used(job: Job, site: Site) -> tuple[Fault, ...]:
    """Warn that the site runs tasks on the node itself."""
    if site.containers.runtime != "none":
        return ()
    names = dict.fromkeys(role.image.uri for role in job.roles)
    message = f"tasks run on the node itself; the container image is not used: {', '.join(names)}"
    path = "$.prerequisites" if job.protocol == "2" else "$.image"
    return (Fault(code="W402", message=message, path=path),)
