"""What the detection is made of: the texts that were answered, and what it makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from ..profile import Site


class Answers(Struct, frozen=True, kw_only=True):
    """Hold what Slurm's programs printed, and what this machine has.

    `refused` has the words of each program that said no, or nothing, by what it was asked for: `nodes`, `partitions`,
    `mpi`, `reservations`, `accounts`, `qos`, `probe`. `node_resolves` says whether the name of a node is known here;
    None where there is no node.
    """

    config: str
    user: str = ""
    """Whose accounts were asked for."""
    partitions: str = ""
    nodes: str = ""
    mpi: str = ""
    accounts: str = ""
    qos: str = ""
    reservations: str = ""
    probe: str = ""
    """What a node said of itself, "" where none was looked at."""
    sysfs: str = "/sys/class"
    refused: Mapping[str, str] = field(default_factory=dict)
    ephemeral_ports: str = ""
    """What `/proc/sys/net/ipv4/ip_local_port_range` has, "" where there is no such file."""
    runtimes: tuple[str, ...] = ()
    """The container runtimes that are found here."""
    node_resolves: bool | None = None


class Gap(Struct, frozen=True, kw_only=True):
    """Name a key that was not learnt, why, and the command that would tell."""

    key: str
    reason: str
    command: str


class Detection(Struct, frozen=True, kw_only=True):
    """Hold the site, remarks by key of the profile, which become comments there, and what was not learnt.

    `runtimes` are those that this machine has: which one nodes have is not known, so that the site names none.
    """

    site: Site
    remarks: Mapping[str, tuple[str, ...]]
    gaps: tuple[Gap, ...]
    runtimes: tuple[str, ...] = ()
