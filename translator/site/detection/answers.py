"""The input of the detection, the same input parsed, and the result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ...slurm_options import is_plain
from .accounts import Accounts, accounts
from .config import SlurmConfig, free_ports, mpi_plugins, port_range, records, slurm_config
from .node_shapes import Node, PartitionRecord, nodes, partition_records
from .probe import SYSFS, Probe, probe

if TYPE_CHECKING:
    from ..profile import Ports, Site


class Answers(Struct, frozen=True, kw_only=True):
    """The output of Slurm's programs, and properties of this machine.

    `refused` has the error of each program that failed or printed nothing, by its subject: `nodes`, `partitions`,
    `mpi`, `reservations`, `accounts`, `qos`, `probe`. `node_resolves` says whether the name of a node resolves here;
    None without any node.
    """

    config: str
    user: str = ""
    """The user of the accounts."""
    partitions: str = ""
    nodes: str = ""
    mpi: str = ""
    accounts: str = ""
    qos: str = ""
    reservations: str = ""
    probe: str = ""
    """The output of the probe on a node, "" without a probe."""
    sysfs: str = SYSFS
    refused: Mapping[str, str] = field(default_factory=dict)
    ephemeral_ports: str = ""
    """The content of `/proc/sys/net/ipv4/ip_local_port_range`, "" without such a file."""
    runtimes: tuple[str, ...] = ()
    """The container runtimes on this machine."""
    node_resolves: bool | None = None


class Gap(Struct, frozen=True, kw_only=True):
    """A key that could not be detected, the reason, and a command to find the value."""

    key: str
    reason: str
    command: str


class Detection(Struct, frozen=True, kw_only=True):
    """The site, remarks by key of the profile for its comments, and the gaps.

    `runtimes` are those of this machine; the site has none, because those of the nodes are unknown.
    """

    site: Site
    remarks: Mapping[str, tuple[str, ...]]
    gaps: tuple[Gap, ...]
    runtimes: tuple[str, ...] = ()


_AMD = re.compile(r"amd|instinct|radeon|mi\d{2,3}[a-z]?|gfx\d\w*", re.IGNORECASE)


class Parsed(Struct, frozen=True, kw_only=True):
    """The parsed input.

    `odd_names` are names of partitions that sbatch does not accept. `mpi` and `reservations` are None if Slurm did not
    report them. `ephemeral` are the ephemeral ports of this machine, `ports` the free ports for tasks, None if there
    are none.
    """

    config: SlurmConfig
    partitions: tuple[PartitionRecord, ...]
    odd_names: tuple[str, ...]
    nodes: tuple[Node, ...]
    accounts: Accounts
    mpi: tuple[str, ...] | None
    reservations: tuple[str, ...] | None
    ephemeral: tuple[int, int] | None
    probe: Probe | None
    ports: Ports | None

    @property
    def are_amd(self) -> bool:
        """Whether the GPUs are from AMD: a node has their devices, or their types have AMD's names."""
        seen = self.probe.vendor == "amd" if self.probe else False
        return seen or any(_AMD.match(name) for node in self.nodes for name in node.gpu_types)


def parse(answers: Answers) -> Parsed:
    """Parse all output."""
    config = slurm_config(answers.config)
    found = partition_records(answers.partitions, config)
    ephemeral = port_range(answers.ephemeral_ports)
    node = probe(answers.probe)
    return Parsed(
        config=config,
        partitions=tuple(record for record in found if _can_be_named(record.name)),
        odd_names=tuple(record.name for record in found if not _can_be_named(record.name)),
        nodes=nodes(answers.nodes),
        accounts=accounts(answers.accounts, answers.qos, limited="limits" in config.enforced),
        mpi=None if "mpi" in answers.refused else mpi_plugins(answers.mpi, config.mpi_default),
        reservations=_reservations(answers.reservations) if answers.reservations else None,
        ephemeral=ephemeral,
        probe=node,
        ports=free_ports((*config.ports, *(each for each in (ephemeral, node and node.ephemeral) if each))),
    )


def _reservations(text: str) -> tuple[str, ...]:
    """Return the names of all reservations. Source: scontrol(1), show reservation."""
    names = (fields["ReservationName"] for fields in records(text, "ReservationName"))
    return tuple(name for name in names if name and is_plain(name))


def _can_be_named(name: str) -> bool:
    """Whether a profile accepts the name of a partition."""
    return bool(name) and is_plain(name) and "," not in name
