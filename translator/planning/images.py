"""The image of each role: a path on the nodes, or a reference to fetch from a registry.

Source: Docker, image references; enroot(1), import, for `registry#image:tag`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from ..errors import Diagnostic, PlanError, did_you_mean
from ..site.containers import image_suffix

if TYPE_CHECKING:
    from ..job import Job
    from ..site.containers import ContainerRuntime, Containers
    from ..site.profile import Site

DOCKER_HUB = "registry-1.docker.io"
"""The registry of Docker Hub. Source: Docker, `docker.io` in references."""
HUB_NAMES = ("", "docker.io", "index.docker.io", DOCKER_HUB)
_REGISTRY = re.compile(r"(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?")
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_NAME = re.compile(
    rf"(?P<repository>{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?",
    re.ASCII,
)


class ImageReference(Struct, frozen=True, kw_only=True, rename={"version": "image_version"}):
    """An image in a registry."""

    registry: str
    """The host of the registry."""
    repository: str
    """The name of the image in the registry."""
    version: str
    """The tag or digest of the image."""

    def __str__(self) -> str:
        return f"{self.registry}/{self.repository}{'@' if ':' in self.version else ':'}{self.version}"


class ImagePlan(Struct, frozen=True, kw_only=True, rename={"path": "image_path"}):
    """The location of a role's image; both values are None without containers."""

    path: str | None = None
    """The path of the image on the nodes; None if it is fetched."""
    reference: ImageReference | None = None
    """The image in a registry."""


def reference_of(uri: str) -> ImageReference | None:
    """Parse an image reference: `[docker://][registry/]name[:tag][@digest]`, or with `registry#name`.

    Return None for any other text.
    """
    text = uri.removeprefix("docker://")
    registry, mark, name = text.partition("#")
    if mark:
        registry = registry.rpartition("@")[2]
    else:
        first, slash, rest = text.partition("/")
        has_registry = slash and ("." in first or ":" in first or first == "localhost")
        registry, name = (first, rest) if has_registry else ("", text)
    match = _NAME.fullmatch(name)
    if match is None or (registry and not _REGISTRY.fullmatch(registry)):
        return None
    repository, tag, digest = match["repository"], match["tag"], match["digest"]
    if registry in HUB_NAMES:
        registry = DOCKER_HUB
        repository = repository if "/" in repository else f"library/{repository}"
    return ImageReference(registry=registry, repository=repository, version=digest or tag or "latest")


def image_plans(job: Job, site: Site) -> tuple[ImagePlan, ...]:
    """Return the location of each role's image; PlanError for an unavailable image."""
    settings, row = site.containers, site.containers.row
    if row is None:
        return tuple(ImagePlan() for _ in job.roles)
    uris = dict.fromkeys(role.image.uri for role in job.roles)
    diagnostics = [diagnostic for uri in uris if (diagnostic := _image_error(uri, settings, row, job.paths.images))]
    if diagnostics:
        raise PlanError(diagnostics)
    return tuple(_plan(role.image.uri, settings) for role in job.roles)


def secrets_of(job: Job, images: tuple[ImagePlan, ...]) -> tuple[str, ...]:
    """Return the names of the secrets that the script reads from files; logins only if it fetches images."""
    return (*job.secrets, *(job.logins if any(image.reference for image in images) else ()))


def _plan(uri: str, settings: Containers) -> ImagePlan:
    path = _path(uri, settings)
    return ImagePlan(path=path) if path else ImagePlan(reference=reference_of(uri))


def _path(uri: str, settings: Containers) -> str:
    """Return the path of an image: an absolute path itself, or that of a reference to the same image."""
    if uri.startswith("/"):
        return uri
    images, wanted = settings.images, reference_of(uri)
    same = (path for name, path in images.items() if wanted is not None and reference_of(name) == wanted)
    return images.get(uri) or images.get(uri.removeprefix("docker://")) or next(same, "")


def _image_error(uri: str, settings: Containers, row: ContainerRuntime, where: str) -> Diagnostic | None:
    path = _path(uri, settings)
    if path:
        return _wrong_kind(path, row, where)
    if reference_of(uri) is None:
        message = f"{uri!r} is neither a path nor the name of an image"
        hint = "write `registry/name:tag`, `name@sha256:...` or an absolute path"
        return Diagnostic(code="E418", message=message, path=where, hint=hint)
    if settings.fetches:
        return None
    hint = did_you_mean(uri, settings.images) or (
        f"add its folder to the site profile, `containers: {{images: {{{uri!r}: /path}}}}`, or permit fetching: "
        "`containers: {cache: /path}`"
    )
    return Diagnostic(code="E415", message=f"the image {uri!r} is not on this site", path=where, hint=hint)


def _wrong_kind(path: str, row: ContainerRuntime, where: str) -> Diagnostic | None:
    if row.reads(path):
        return None
    suffix = image_suffix(path)
    kind = f"a {suffix.removeprefix('.')} file" if suffix else "a folder"
    message = f"the image {path!r} is {kind}, which the runtime {row.name} cannot read"
    hint = "a folder with the image's files" if row.reads_folders else f"a `{row.image_files[0]}` file"
    return Diagnostic(code="E419", message=message, path=where, hint=f"use {hint}, or a reference to a registry")
