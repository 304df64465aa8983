"""What the detection is made of: the texts that were answered, and what it makes of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from ...slurm_options import is_plain
from .accounts import Accounts, accounts
from .config import SlurmConfig, free_ports, mpi_plugins, port_range, records, slurm_config
from .nodes import Node, PartitionRecord, nodes, partition_records
from .probe import Probe, probe

if TYPE_CHECKING:
    from ..profile import Ports, Site


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


_AMD = re.compile(r"amd|instinct|radeon|mi\d{2,3}[a-z]?|gfx\d\w*", re.IGNORECASE)


class Parsed(Struct, frozen=True, kw_only=True):
    """Hold what was answered.

    `odd_names` are of partitions that sbatch could not be given. `mpi` and `reservations` are None where Slurm did not
    say. `ephemeral` are the ports that this machine hands out, `ports` those that are free for tasks; None where there
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
        """Tell whether the GPUs are AMD's: a node has their devices, or their types are names of AMD's."""
        seen = self.probe.vendor == "amd" if self.probe else False
        return seen or any(_AMD.match(name) for node in self.nodes for name in node.gpu_types)


def parse(answers: Answers) -> Parsed:
    """Read all answers."""
    config = slurm_config(answers.config)
    found = partition_records(answers.partitions)
    ephemeral = port_range(answers.ephemeral_ports)
    node = probe(answers.probe)
    return Parsed(
        config=config,
        partitions=tuple(record for record in found if _can_be_named(record.name)),
        odd_names=tuple(record.name for record in found if not _can_be_named(record.name)),
        nodes=tuple(map(_without_odd_type, nodes(answers.nodes))),
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
    """Tell whether a profile takes the name of a partition."""
    return bool(name) and is_plain(name) and "," not in name


def _without_odd_type(node: Node) -> Node:
    """Return a node without a type of GPU that sbatch could not be given."""
    return (
        node if is_plain(node.shape.gpu_type) else replace(node, shape=node.shape.model_copy(update={"gpu_type": ""}))
    )
