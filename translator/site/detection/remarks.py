"""What a person should know beside the settings: it becomes comments in the profile."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ...plural import counted, verb
from .nodes import GPU

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..profile import Site
    from .nodes import Node
    from .parsed import Parsed
    from .probe import Probe

_MANY = 10
"""One node in so many that is away is worth a remark."""


def remarks(parsed: Parsed, site: Site, user: str) -> Mapping[str, tuple[str, ...]]:
    """Return the remarks by the key of the profile before which they stand."""
    return {
        "partitions": tuple(_on_partitions(parsed, site)),
        "gpus": tuple(_on_resources(parsed.nodes)),
        "virtualClusters": tuple(_on_accounts(parsed, user)),
        "accounts": (f"Of {user}, with the limits that Slurm enforces: in a profile for all users leave them out.",),
        "probe": tuple(_on_probe(parsed.probe)) if parsed.probe else (),
        "reservations": ("Reservations come and go: without this key no job is refused for the one that it names.",),
        "requireTimeLimit": ("JobSubmitPlugins of Slurm has require_timelimit.",),
        "ports": tuple(_on_ports(parsed)),
        "mpi": (f"MpiDefault of Slurm is {parsed.config.mpi_default or 'none'}.",),
    }


def _on_partitions(parsed: Parsed, site: Site) -> Iterator[str]:
    yield "cpus and memoryMB are what jobs can have of a node. Nodes that are down or drained are counted, too."
    for record, partition in zip(parsed.partitions, site.partitions.values(), strict=True):
        away = sum(node.away for node in parsed.nodes if record.name in node.partitions)
        if away * _MANY > partition.node_count:
            are = verb(away, "is", "are")
            yield f"{record.name}: {away} of {counted(partition.node_count, 'node')} {are} down or drained now."
        if not record.is_up:
            yield f"{record.name}: the partition is not up now."
    several = sum(len(node.gpu_types) > 1 for node in parsed.nodes)
    if several:
        have = verb(several, "has", "have")
        yield f"{counted(several, 'node')} {have} GPUs of several types: gpuType is left out there."


def _on_resources(nodes: Iterable[Node]) -> Iterator[str]:
    """Say which features and generic resources jobs can ask for, with the number of nodes that have each."""
    features = Counter(name for node in nodes for name in node.shape.features or ())
    others = Counter(name for node in nodes for name in {each.name for each in node.gres} - {GPU})
    if features:
        yield f"Features of nodes, for nodeTypes or infiniband.constraint: {_counted(features)}."
    if others:
        yield f"Other generic resources, for gpus.gres or infiniband.gres: {_counted(others)}."


def _counted(names: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({counted(count, 'node')})" for name, count in sorted(names.items()))


def _on_accounts(parsed: Parsed, user: str) -> Iterator[str]:
    """Say which accounts the user has. None is taken: the profile may be for all users."""
    if not parsed.config.has_accounting:
        yield "Slurm keeps no accounts here: of a job it knows nothing some minutes after its end."
    if parsed.accounts.accounts:
        yield f"Accounts of {user}: {', '.join(parsed.accounts.accounts)}."
    if parsed.accounts.qos:
        yield f"Qualities of service of {user}: {', '.join(parsed.accounts.qos)}."
    if parsed.accounts.accounts or parsed.accounts.qos:
        yield "With account or qos beside partition, jobs of a virtual cluster name one."


def _on_probe(probe: Probe) -> Iterator[str]:
    """Say what one node is like, which others may not be."""
    yield f"What follows is what node {probe.node} said, by `--probe`; others may be different."
    if probe.inactive:
        yield f"Adapters without an active InfiniBand port: {', '.join(probe.inactive)}."
    shown = [f"{each.name} ({each.address or each.state})" for each in probe.interfaces if each.is_network]
    if shown:
        yield f"Network interfaces: {', '.join(shown)}."
    limit = "all of it" if probe.memlock_kib is None else f"{probe.memlock_kib} KiB"
    yield f"Memory that a task can lock (ulimit -H -l): {limit}."
    home = "sees files that are made in your home here" if probe.shares_home else "does not see your home"
    tmp = "shares /tmp with this machine" if probe.shares_tmp else "has a /tmp of its own"
    yield f"It {home}, and {tmp}{f', mounted as {probe.own_tmp}' if probe.own_tmp else ''}."
    if probe.mounts:
        yield f"Shared file systems, for storages: {', '.join(f'{path} ({kind})' for kind, path in probe.mounts)}."


def _on_ports(parsed: Parsed) -> Iterator[str]:
    """Say which ports are taken."""
    if parsed.ephemeral:
        yield f"This machine gives the ports {_range(parsed.ephemeral)} to whoever asks."
    if parsed.probe and parsed.probe.ephemeral:
        yield f"Node {parsed.probe.node} gives the ports {_range(parsed.probe.ephemeral)} to whoever asks."
    if parsed.config.ports:
        yield f"Slurm itself has {', '.join(dict.fromkeys(map(_range, parsed.config.ports)))}."


def _range(ports: tuple[int, int]) -> str:
    first, last = ports
    return f"{first} to {last}" if first < last else f"{first}"
