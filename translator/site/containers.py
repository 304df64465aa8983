"""What a profile says about containers."""

# ruff: noqa: RUF012 - models are frozen
from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ..validation.strict_model import Boolean, StrictModel, choice, pattern
from .container_runtimes import CONTAINER_RUNTIMES, NO_CONTAINERS, RUNTIME_NAMES

if TYPE_CHECKING:
    from .container_runtimes import ContainerRuntime

Path = Annotated[str, pattern("an absolute path", "/[^\x00-\x1f:]*")]
Cache = Annotated[str, pattern("an absolute path, or one that begins with `~/`", "(?:~?/[^\x00-\x1f:,]+)?")]


class Containers(StrictModel):
    """The runtime that tasks run in, where images are, and what of the nodes tasks see."""

    runtime: Annotated[str, choice(*RUNTIME_NAMES)] = NO_CONTAINERS
    """What starts containers; `none` runs tasks on the node itself."""
    images: dict[str, Path] = {}
    """The paths of images on the nodes, by the references that job files have."""
    mounts: tuple[Path, ...] = ()
    """Folders of the nodes that tasks find under the same paths."""
    cache: Cache = ""
    """A folder for images from registries, with a folder for each user in it; or one below `~/`."""
    cache_shared: Boolean = True
    """Whether all nodes see the same cache."""
    certificates: Path | None = None
    """A file with the certificates of registries. Default: what the nodes trust."""
    installed: tuple[Annotated[str, choice(*CONTAINER_RUNTIMES)], ...] | None = None
    """The runtimes that the nodes have; where `runtime` is another one, every job is refused."""

    @property
    def row(self) -> ContainerRuntime | None:
        """The row of the runtime, None where tasks run on the node itself."""
        return CONTAINER_RUNTIMES.get(self.runtime)

    @property
    def fetches(self) -> bool:
        """Whether images come from registries too."""
        return bool(self.cache) or (self.row is not None and self.row.own_store)
