"""The container runtimes that a site profile can name: a row for each says all that differs between them.

The bash of a runtime is `templates/runtime/containers/<bash>.sh`, which starts a task, and
`templates/runtime/images/<bash>.sh`, which fetches images. Pure.
"""

from __future__ import annotations

from msgspec import Struct


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
