"""What a profile says about containers."""

# ruff: noqa: RUF012 - nobody changes the defaults
from __future__ import annotations

from typing import Annotated

from ..validation.strict_model import Boolean, StrictModel, choice, pattern
from .container_runtimes import CONTAINER_RUNTIMES, NO_CONTAINERS, RUNTIME_NAMES
from .profile import ContainerSettings

Path = Annotated[str, pattern("an absolute path", "/[^\x00-\x1f:]*")]
Cache = Annotated[str, pattern("an absolute path, or one that begins with `~/`", "(?:~?/[^\x00-\x1f:,]+)?")]


class Containers(StrictModel):
    """The runtime that tasks run in, where images are, and what of the nodes tasks see.

    `images` gives the path of an image for the reference that job files have. `mounts` are folders that tasks find
    under the same path as on the nodes. Below `cache` are the images that are fetched from registries, in a folder for
    each user; one below `~/` is the user's own. `certificates` is a file of certificates that registries are known by.
    """

    runtime: Annotated[str, choice(*RUNTIME_NAMES)] = NO_CONTAINERS
    images: dict[str, Path] = {}
    mounts: list[Path] = []
    cache: Cache = ""
    cache_shared: Boolean = True
    certificates: Path | None = None
    installed: list[Annotated[str, choice(*CONTAINER_RUNTIMES)]] | None = None

    def settings(self) -> ContainerSettings:
        """Return the settings as the planner sees them."""
        return ContainerSettings(
            runtime=self.runtime,
            images=self.images,
            mounts=tuple(self.mounts),
            cache=self.cache,
            cache_shared=self.cache_shared,
            certificates=self.certificates or "",
            installed=None if self.installed is None else tuple(self.installed),
        )
