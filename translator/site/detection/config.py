"""What `scontrol show config` says of a cluster as a whole."""

from __future__ import annotations

import re

from ...lazy import dataclass
from ..slurm_version import slurm_version
from .records import number, settings

_PORTS = ("SlurmctldPort", "SlurmdPort", "AccountingStoragePort", "SrunPortRange")


@dataclass(frozen=True, kw_only=True)
class SlurmConfig:
    """Hold what the profile takes of slurm.conf. `ports` are ranges that Slurm itself listens on, ends included."""

    name: str = ""
    version: str = ""
    mpi_default: str = ""
    kill_wait: int = 0
    has_accounting: bool = False
    ports: tuple[tuple[int, int], ...] = ()


def slurm_config(text: str) -> SlurmConfig:
    """Read the answer. Source: slurm.conf(5)."""
    found = settings(text)
    storage = found.get("AccountingStorageType", "")
    ranges = (port_range(found.get(name, "")) for name in _PORTS)
    return SlurmConfig(
        name=found.get("ClusterName", ""),
        version=str(slurm_version(found.get("SLURM_VERSION", "")) or ""),
        mpi_default=found.get("MpiDefault", ""),
        kill_wait=number(found.get("KillWait", "")),
        has_accounting=bool(storage) and not storage.endswith("/none"),
        ports=tuple(each for each in ranges if each is not None),
    )


def port_range(text: str) -> tuple[int, int] | None:
    """Return the range that `6817`, `60001-63000` or `32768 60999` means; None for `0-0` and for what is none."""
    numbers = [int(word) for word in re.findall(r"\d{1,5}", text, re.ASCII)]
    return (numbers[0], numbers[-1]) if numbers and numbers[-1] else None
