"""The part of a site profile about containers."""

# ruff: noqa: RUF012 - models are frozen
from typing import Annotated

from msgspec import Struct

from ..validation.strict_model import Boolean, StrictModel, choice, pattern


class ContainerRuntime(Struct, frozen=True, kw_only=True):
    """The properties of a container runtime.

    `bash` is the part of the script that runs it; several names may share it. `program` identifies a machine with the
    runtime, "" if only Slurm could tell. `image_files` are the suffixes of images in one file. With `own_store` the
    runtime stores fetched images itself on each node, without a cache. `sizes_shm` says whether a task gets a /dev/shm
    of the requested size, and `ranks_can_join` whether processes can join a running container. `warning` is a further
    limitation, and `hint` a way around it.
    """

    name: str
    bash: str
    program: str = ""
    image_files: tuple[str, ...] = ()
    reads_folders: bool = True
    own_store: bool = False
    sizes_shm: bool = True
    ranks_can_join: bool = True
    warning: str = ""
    hint: str = ""

    def reads(self, path: str) -> bool:
        """Whether the runtime can read the image at a path; a path without a suffix of images is a folder."""
        suffix = image_suffix(path)
        return suffix in self.image_files if suffix else self.reads_folders


_ROWS = (
    ContainerRuntime(name="charliecloud", bash="charliecloud", program="ch-run"),
    ContainerRuntime(name="podman", bash="podman", program="podman", own_store=True, ranks_can_join=False),
    ContainerRuntime(
        name="apptainer", bash="apptainer", program="apptainer", image_files=(".sif", ".sqsh"), sizes_shm=False
    ),
    ContainerRuntime(
        name="singularity",
        bash="apptainer",
        program="singularity",
        image_files=(".sif", ".sqsh"),
        sizes_shm=False,
        ranks_can_join=False,
        warning="files written into the image are kept in memory, up to `sessiondir max size` of singularity.conf",
        hint="write to the working directory of the task",
    ),
    ContainerRuntime(name="pyxis", bash="enroot", image_files=(".sqsh",), reads_folders=False),
    ContainerRuntime(name="enroot", bash="enroot", program="enroot", image_files=(".sqsh",), reads_folders=False),
)
"""Source: Apptainer User Guide, bind paths, persistent overlays; enroot, image format; podman-run(1)."""
CONTAINER_RUNTIMES = {row.name: row for row in _ROWS}
NO_CONTAINERS = "none"
"""The value for tasks that run on the node itself."""
RUNTIME_NAMES = (NO_CONTAINERS, *CONTAINER_RUNTIMES)
PROGRAMS = {row.program: row.name for row in _ROWS if row.program}
BASH_PARTS = tuple(dict.fromkeys(row.bash for row in _ROWS))
BASH_WITH_STORE = frozenset(row.bash for row in _ROWS if row.own_store)
_IMAGE_FILES = tuple(dict.fromkeys(suffix for row in _ROWS for suffix in row.image_files))


def image_suffix(path: str) -> str:
    """Return the suffix of the image at a path, "" for a folder."""
    return next((suffix for suffix in _IMAGE_FILES if path.endswith(suffix)), "")


Path = Annotated[str, pattern("an absolute path", "/[^\x00-\x1f:]*")]
Cache = Annotated[str, pattern("an absolute path, or one that begins with `~/`", "(?:~?/[^\x00-\x1f:,]+)?")]


class Containers(StrictModel):
    """The container runtime, the images, and the mounts of tasks."""

    runtime: Annotated[str, choice(*RUNTIME_NAMES)] = NO_CONTAINERS
    """The container runtime; `none` runs tasks on the node itself."""
    images: dict[str, Path] = {}
    """The paths of images on the nodes, by their references in job files."""
    mounts: tuple[Path, ...] = ()
    """Folders of the nodes to mount in containers under the same paths."""
    cache: Cache = ""
    """A folder for images from registries, with a subfolder for each user; or one below `~/`."""
    cache_shared: Boolean = True
    """Whether all nodes share the cache."""
    certificates: Path | None = None
    """A file with the certificates of registries. Default: those that the nodes trust."""
    installed: tuple[Annotated[str, choice(*CONTAINER_RUNTIMES)], ...] | None = None
    """The runtimes on the nodes; if `runtime` is not among them, every job is refused."""

    @property
    def row(self) -> ContainerRuntime | None:
        """The properties of the runtime, None if tasks run on the node itself."""
        return CONTAINER_RUNTIMES.get(self.runtime)

    @property
    def fetches(self) -> bool:
        """Whether images can come from registries."""
        return bool(self.cache) or (self.row is not None and self.row.own_store)
