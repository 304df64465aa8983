"""What a profile says about GPUs and InfiniBand."""

# ruff: noqa: RUF012 - nobody changes the defaults
from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from ..protocol.extras_slurm import SbatchText
from ..validation.marks import NOT_EMPTY, Key, Validator
from ..validation.strict_model import StrictModel, TextOrNumber, choice, expected, integer, pattern
from .profile import GRES, WORD, Gpus, GpuVendor, InfinibandSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .profile import Overrides

_GPUS = Gpus()
_SYSFS = "/sys/class"
UNLIMITED = "unlimited"

Adapter = Annotated[
    str,
    pattern("the name of an adapter such as `mlx5_0`, or with a port `mlx5_0:1`", r"[A-Za-z0-9_.-]+(?::[1-9]\d{0,2})?"),
]
Interface = Annotated[str, pattern("the name of a network interface such as `ib0`", r"[A-Za-z0-9_.@-]{1,15}")]
GresName = Annotated[str, pattern("the name of a generic resource, without a type or a number", WORD)]
Gres = Annotated[str, pattern("a generic resource of a node, such as `hca:1`", GRES)]
SwitchCount = Annotated[
    str, pattern("a number of switches such as `1`, or with a time to wait for them `1@30:00`", r"\d+(?:@[\d:-]+)?")
]
Folder = Annotated[str, pattern("the path of a folder", r"/[A-Za-z0-9_./-]*[A-Za-z0-9_-]")]
Variable = Annotated[str, pattern("the name of an environment variable", r"[A-Za-z_][A-Za-z0-9_]*")]


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


class GpuSettings(StrictModel):
    """What Slurm calls the GPUs, and whose they are. Source: gres.conf(5), Name and Flags."""

    gres: GresName = _GPUS.gres
    vendor: Annotated[GpuVendor, choice("nvidia", "amd")] = _GPUS.vendor

    def settings(self) -> Gpus:
        """Return the settings as the planner sees them."""
        return Gpus(gres=self.gres, vendor=self.vendor)


class InfinibandVariables(StrictModel):
    """Variables over those that come by default; null takes one away."""

    enabled: dict[Variable, TextOrNumber | None] = {}
    disabled: dict[Variable, TextOrNumber | None] = {}


class Infiniband(StrictModel):
    """The site's InfiniBand.

    Source: sbatch(1), options of these names; Linux, Documentation/ABI/stable/sysfs-class-infiniband.
    """

    adapters: Annotated[list[Adapter], NOT_EMPTY]
    interface: Interface | None = None
    ethernet: Interface | None = None
    constraint: SbatchText | None = None
    gres: Gres | None = None
    network: SbatchText | None = None
    switches: SwitchCount | None = None
    memlock_mb: Annotated[Memlock, Key("memlockMB")] = None
    sysfs: Folder = _SYSFS
    variables: InfinibandVariables = InfinibandVariables()

    def settings(self) -> InfinibandSettings:
        """Return the settings as the planner sees them."""
        return InfinibandSettings(
            adapters=tuple(self.adapters),
            interface=self.interface or "",
            ethernet=self.ethernet or "",
            constraint=self.constraint,
            gres=self.gres,
            network=self.network,
            switches=self.switches,
            memlock_mib=self.memlock_mb,
            sysfs=self.sysfs,
            variables_enabled=_overrides(self.variables.enabled),
            variables_disabled=_overrides(self.variables.disabled),
        )


def _overrides(variables: Mapping[str, str | float | None]) -> Overrides:
    return tuple((name, None if value is None else str(value)) for name, value in variables.items())


CpuUnits = Annotated[Literal["thread", "core"], choice("thread", "core")]
