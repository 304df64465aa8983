"""What a profile says about containers."""

# ruff: noqa: RUF012 - models are frozen
from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from ..validation.strict_model import Boolean, StrictModel, choice, pattern


class ContainerRuntime(Struct, frozen=True, kw_only=True):
    """Describe a container runtime.

    `bash` is the part of the script that runs it, which several names may have in common. `program` is what a machine
    that has it is known by, "" where only Slurm could tell. `image_files` are the
    suffixes of images that are one file. With `own_store` the runtime keeps images that it fetches in a store of its
    own on each node, and needs no cache. `sizes_shm` says whether a task gets a /dev/shm of its own size. `warning` is
    what else a job should know of it, and `hint` what to do about that.
    """

    name: str
    bash: str
    program: str = ""
    image_files: tuple[str, ...] = ()
    reads_folders: bool = True
    own_store: bool = False
    sizes_shm: bool = True
    warning: str = ""
    hint: str = ""

    def reads(self, path: str) -> bool:
        """Tell whether the runtime reads the image at a path; one without a suffix of images is a folder."""
        suffix = image_suffix(path)
        return suffix in self.image_files if suffix else self.reads_folders


_ROWS = (
    ContainerRuntime(name="charliecloud", bash="charliecloud", program="ch-run"),
    ContainerRuntime(name="podman", bash="podman", program="podman", own_store=True),
    ContainerRuntime(
        name="apptainer", bash="apptainer", program="apptainer", image_files=(".sif", ".sqsh"), sizes_shm=False
    ),
    ContainerRuntime(
        name="singularity",
        bash="apptainer",
        program="singularity",
        image_files=(".sif", ".sqsh"),
        sizes_shm=False,
        warning="what tasks write into the image is held in memory, up to `sessiondir max size` of singularity.conf",
        hint="have tasks write to their working directory",
    ),
    ContainerRuntime(name="pyxis", bash="enroot", image_files=(".sqsh",), reads_folders=False),
    ContainerRuntime(name="enroot", bash="enroot", program="enroot", image_files=(".sqsh",), reads_folders=False),
)
"""Source: Apptainer User Guide, bind paths, persistent overlays; enroot, image format; podman-run(1)."""
CONTAINER_RUNTIMES = {row.name: row for row in _ROWS}
NO_CONTAINERS = "none"
"""The word of a site profile for tasks that run on the node itself."""
RUNTIME_NAMES = (NO_CONTAINERS, *CONTAINER_RUNTIMES)
PROGRAMS = {row.program: row.name for row in _ROWS if row.program}
BASH_PARTS = tuple(dict.fromkeys(row.bash for row in _ROWS))
BASH_WITH_STORE = frozenset(row.bash for row in _ROWS if row.own_store)
_IMAGE_FILES = tuple(dict.fromkeys(suffix for row in _ROWS for suffix in row.image_files))


def image_suffix(path: str) -> str:
    """Return by which suffix the image at a path is one file, "" for a folder."""
    return next((suffix for suffix in _IMAGE_FILES if path.endswith(suffix)), "")


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
