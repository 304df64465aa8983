"""Put the answers together: the site, remarks on it, and what was not learnt."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from ...lazy import regex
from ...sbatch_forms import is_plain
from ..profile import Gpus, PortRange, Site, VirtualCluster
from .accounts import accounts
from .answers import Detection
from .config import port_range, slurm_config
from .gaps import gaps
from .mpi import mpi_plugins
from .nodes import GPU, nodes
from .partitions import partition_records, with_nodes
from .ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..profile import Partition
    from .answers import Answers
    from .config import SlurmConfig
    from .nodes import Node
    from .partitions import PartitionRecord

_AMD = regex(r"amd|instinct|radeon|mi\d{2,3}[a-z]?|gfx\d\w*", re.IGNORECASE)
_MAX_KILL_WAIT = 24 * 3600
_MANY = 10
"""One node in so many that is away is worth a remark."""


def detect(answers: Answers) -> Detection:
    """Return the site as the answers have it."""
    config = slurm_config(answers.config)
    found = tuple(map(_without_odd_types, nodes(answers.nodes)))
    records = partition_records(answers.partitions)
    known = tuple(record for record in records if _can_be_named(record.name))
    default = next((record.name for record in known if record.is_default), None)
    ephemeral = port_range(answers.ephemeral_ports)
    ports = free_ports((*config.ports, *([ephemeral] if ephemeral else [])))
    are_amd = any(_AMD.match(name) for node in found for name in node.gpu_types)
    site = Site(
        known=True,
        name=config.name if config.name.isprintable() else "",
        slurm_version=config.version,
        partitions=tuple(with_nodes(record, found) for record in known),
        default_partition=default,
        virtual_clusters={"default": VirtualCluster(partition=default)} if default else {},
        gpus=Gpus(vendor="amd") if are_amd else Gpus(),
        address="node-address" if answers.node_resolves is False else "getent",
        ports=ports or PortRange(),
        kill_wait=timedelta(seconds=min(config.kill_wait, _MAX_KILL_WAIT)) if config.kill_wait else Site().kill_wait,
        mpi=None if "mpi" in answers.refused else mpi_plugins(answers.mpi, config.mpi_default),
    )
    remarks = {
        "partitions": _of_partitions(known, site.partitions, found),
        "gpus": _of_resources(found),
        "virtualClusters": _of_accounts(config, answers),
        "ports": _of_ports(config, ephemeral),
        "mpi": (f"MpiDefault of Slurm is {config.mpi_default or 'none'}.",),
    }
    odd = tuple(record.name for record in records if record not in known)
    return Detection(
        site=site,
        remarks=remarks,
        gaps=gaps(answers, found, odd, has_partitions=bool(known), has_ports=ports is not None, vendor_known=are_amd),
        runtimes=answers.runtimes,
    )


def _can_be_named(name: str) -> bool:
    """Tell whether a profile takes the name of a partition."""
    return bool(name) and is_plain(name) and "," not in name


def _without_odd_types(node: Node) -> Node:
    """Return a node without a type of GPU that sbatch could not be given."""
    return node if is_plain(node.shape.gpu_type) else replace(node, shape=replace(node.shape, gpu_type=""))


def _of_partitions(
    records: Iterable[PartitionRecord], partitions: Iterable[Partition], found: Iterable[Node]
) -> tuple[str, ...]:
    said = ["cpus and memoryMB are what jobs can have of a node. Nodes that are down or drained are counted, too."]
    for record, partition in zip(records, partitions, strict=True):
        away = sum(node.away for node in found if record.name in node.partitions)
        if away * _MANY > partition.node_count:
            said.append(f"{record.name}: {away} of {partition.node_count} nodes are down or drained now.")
        if not record.is_up:
            said.append(f"{record.name}: the partition is not up now.")
        if record.max_nodes:
            said.append(f"{record.name}: a job may have {record.max_nodes} nodes at most, which no key says.")
    several = sum(len(node.gpu_types) > 1 for node in found)
    if several:
        said.append(f"{several} nodes have GPUs of several types: gpuType is left out there.")
    return tuple(said)


def _of_resources(found: Iterable[Node]) -> tuple[str, ...]:
    """Say which features and generic resources jobs can ask for, with the number of nodes that have each."""
    features = Counter(name for node in found for name in set(node.features))
    others = Counter(name for node in found for name in {each.name for each in node.gres} - {GPU})
    said = []
    if features:
        said.append(f"Features of nodes, for nodeTypes or infiniband.constraint: {_counted(features)}.")
    if others:
        said.append(f"Other generic resources, for gpus.gres or infiniband.gres: {_counted(others)}.")
    return tuple(said)


def _counted(names: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({count} node{'s' * (count > 1)})" for name, count in sorted(names.items()))


def _of_accounts(config: SlurmConfig, answers: Answers) -> tuple[str, ...]:
    """Say which accounts the user has, without taking one: the profile is for all users."""
    if not config.has_accounting:
        return ("Slurm keeps no accounts here: of a job it knows nothing some minutes after its end.",)
    found = accounts(answers.accounts)
    yours = [
        f"{word} of {answers.user}: {', '.join(names)}."
        for word, names in (("Accounts", found.accounts), ("Qualities of service", found.qos))
        if names
    ]
    more = ("With account or qos beside partition, jobs of a virtual cluster name one.",) if yours else ()
    return (*yours, *more)


def _of_ports(config: SlurmConfig, ephemeral: tuple[int, int] | None) -> tuple[str, ...]:
    """Say which ports are taken."""
    taken = [f"{first}-{last}" if first < last else f"{first}" for first, last in config.ports]
    system = (f"this machine gives {ephemeral[0]}-{ephemeral[1]} to whoever asks",) if ephemeral else ()
    slurm = (f"Slurm has {', '.join(dict.fromkeys(taken))}",) if taken else ()
    said = "; ".join((*system, *slurm))
    return (f"Taken: {said}.",) if said else ()
