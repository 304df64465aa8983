"""What a profile says about containers."""

# ruff: noqa: RUF012 - pydantic copies the defaults
from __future__ import annotations

from typing import Annotated, Literal

from ..protocol.fields import Closed, one_of, words
from .profile import ContainerSettings

Path = Annotated[str, words("an absolute path", "/[^\x00-\x1f:]*")]


class Containers(Closed):
    """The runtime that tasks run in, where images are, and what of the nodes tasks see.

    `images` gives the path of an image for the reference that job files have. `mounts` are folders that tasks find
    under the same path as on the nodes.
    """

    runtime: Annotated[Literal["none", "charliecloud"], one_of("none", "charliecloud")] = "none"
    images: dict[str, Path] = {}
    mounts: list[Path] = []

    def settings(self) -> ContainerSettings:
        """Return the settings as the planner sees them."""
        return ContainerSettings(runtime=self.runtime, images=self.images, mounts=tuple(self.mounts))
