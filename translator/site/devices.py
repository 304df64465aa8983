"""The parts of a site profile about GPUs and InfiniBand."""

# ruff: noqa: RUF012 - models are frozen
from typing import Annotated, Literal

from pydantic import Field

from ..protocol.extras_slurm import SbatchText
from ..validation.strict_model import (
    NOT_EMPTY,
    StrictModel,
    TextOrNumber,
    Validator,
    choice,
    expected,
    int_range,
    integer,
    pattern,
)
from .partitions import WORD, Gres

UNLIMITED = "unlimited"
GpuVendor = Literal["nvidia", "amd"]
CpuUnit = Literal["thread", "core"]

Adapter = Annotated[
    str,
    pattern("the name of an adapter such as `mlx5_0`, or with a port `mlx5_0:1`", r"[A-Za-z0-9_.-]+(?::[1-9]\d{0,2})?"),
]
Interface = Annotated[str, pattern("the name of a network interface such as `ib0`", r"[A-Za-z0-9_.@-]{1,15}")]
GresName = Annotated[str, pattern("the name of a generic resource, without a type or a number", WORD)]
GidIndex = Annotated[int, int_range(0, 255)]
SwitchCount = Annotated[
    str, pattern("a number of switches such as `1`, or with the longest wait for them `1@30:00`", r"\d+(?:@[\d:-]+)?")
]
Folder = Annotated[str, pattern("the path of a folder", r"/[A-Za-z0-9_./-]*[A-Za-z0-9_-]")]
VariableName = Annotated[str, pattern("the name of an environment variable", r"[A-Za-z_][A-Za-z0-9_]*")]
Overrides = dict[VariableName, TextOrNumber | None]
"""Values of variables by name; null removes a variable."""


def _memlock(value: object) -> int | None:
    number = integer(value)
    if value == UNLIMITED:
        return None
    if number is None or not 1 <= number <= 1 << 30:
        raise expected("`unlimited`, or a whole number of MiB of at least 1")
    return number


Memlock = Annotated[
    int | None, Validator(_memlock, {"oneOf": [{"const": UNLIMITED}, {"type": "integer", "minimum": 1}]})
]


class Gpus(StrictModel):
    """The gres name and the vendor of the GPUs. Source: gres.conf(5), Name and Flags."""

    gres: GresName = "gpu"
    """The name of the generic resource."""
    vendor: Annotated[GpuVendor, choice("nvidia", "amd")] = "nvidia"
    """The vendor; it decides which variables show tasks their GPUs."""


class InfinibandVariables(StrictModel):
    """Overrides of the default variables; null removes one."""

    enabled: Overrides = {}
    """For roles on InfiniBand, by name."""
    disabled: Overrides = {}
    """For jobs off InfiniBand, by name."""


class Infiniband(StrictModel):
    """The site's InfiniBand.

    Source: sbatch(1), options of these names; Linux, Documentation/ABI/stable/sysfs-class-infiniband.
    """

    adapters: Annotated[tuple[Adapter, ...], NOT_EMPTY]
    """The adapters that jobs may use, each `mlx5_0`, or with a port `mlx5_0:1`."""
    interface: Interface | None = None
    """The network interface of the InfiniBand (IP over InfiniBand), such as `ib0`."""
    ethernet: Interface | None = None
    """The network interface of jobs off InfiniBand, such as `eth0`."""
    constraint: SbatchText | None = None
    """Features of the nodes with InfiniBand (sbatch --constraint)."""
    gres: Gres | None = None
    """A generic resource to request on each node of a role on InfiniBand, such as `hca:1` (sbatch --gres)."""
    network: SbatchText | None = None
    """The value of sbatch --network."""
    switches: SwitchCount | None = None
    """The most switches between the nodes of a role, with an optional longest wait for them (sbatch --switches)."""
    gid_index: GidIndex | None = None
    """The GID index of RoCE (InfiniBand over Ethernet); default: a node's first GID of RoCE v2 with an IPv4 address."""
    memlock_mib: Annotated[Memlock, Field(alias="memlockMB")] = None
    """Memory in MiB that a task must be able to lock, or `unlimited`."""
    sysfs: Folder = "/sys/class"
    """The folder of `infiniband` and `net` on the nodes."""
    variables: InfinibandVariables = InfinibandVariables.of()
    """Overrides of the default variables, by name; null removes one."""
