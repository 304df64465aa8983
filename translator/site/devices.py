"""What a profile says about GPUs and InfiniBand."""

# ruff: noqa: RUF012 - models are frozen
from __future__ import annotations

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
SwitchCount = Annotated[
    str, pattern("a number of switches such as `1`, or with a time to wait for them `1@30:00`", r"\d+(?:@[\d:-]+)?")
]
Folder = Annotated[str, pattern("the path of a folder", r"/[A-Za-z0-9_./-]*[A-Za-z0-9_-]")]
VariableName = Annotated[str, pattern("the name of an environment variable", r"[A-Za-z_][A-Za-z0-9_]*")]
Overrides = dict[VariableName, TextOrNumber | None]
"""Values of variables by name; null takes one away."""


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
    """What Slurm calls the GPUs, and who makes them. Source: gres.conf(5), Name and Flags."""

    gres: GresName = "gpu"
    """The name of the generic resource."""
    vendor: Annotated[GpuVendor, choice("nvidia", "amd")] = "nvidia"
    """Who makes them; this decides by which variables tasks see their GPUs."""


class InfinibandVariables(StrictModel):
    """Variables over those that come by default; null takes one away."""

    enabled: Overrides = {}
    """For roles on the InfiniBand, by name."""
    disabled: Overrides = {}
    """For jobs off the InfiniBand, by name."""


class Infiniband(StrictModel):
    """The site's InfiniBand.

    Source: sbatch(1), options of these names; Linux, Documentation/ABI/stable/sysfs-class-infiniband.
    """

    adapters: Annotated[tuple[Adapter, ...], NOT_EMPTY]
    """The adapters that jobs may use, each `mlx5_0`, or with a port `mlx5_0:1`."""
    interface: Interface | None = None
    """The network interface on them (IP over InfiniBand), such as `ib0`."""
    ethernet: Interface | None = None
    """The network interface of jobs that keep off the InfiniBand, such as `eth0`."""
    constraint: SbatchText | None = None
    """Features of the nodes that have it (sbatch --constraint)."""
    gres: Gres | None = None
    """A generic resource that each node of such a role needs, such as `hca:1` (sbatch --gres)."""
    network: SbatchText | None = None
    """The value of sbatch --network."""
    switches: SwitchCount | None = None
    """The most switches between the nodes of a role, with an optional time to wait for them (sbatch --switches)."""
    memlock_mib: Annotated[Memlock, Field(alias="memlockMB")] = None
    """Memory in MiB that a task must be able to lock, or `unlimited`."""
    sysfs: Folder = "/sys/class"
    """The folder in which nodes have `infiniband` and `net`."""
    variables: InfinibandVariables = InfinibandVariables.of()
    """Variables over those that come by default, by name; null takes one away."""
