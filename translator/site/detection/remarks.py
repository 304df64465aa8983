"""Remarks for the maintainer of a detected profile, which become its comments."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ...plural import counted, verb
from ..containers import PROGRAMS
from .answers import Gap
from .node_shapes import GPU

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..profile import Site
    from .answers import Answers, Parsed
    from .node_shapes import Node
    from .probe import Probe


_MANY = 10
"""The smallest share of unavailable nodes that gets a remark is one in this number."""


def remarks(parsed: Parsed, site: Site, user: str) -> Mapping[str, tuple[str, ...]]:
    """Return the remarks by the key of the profile that they precede."""
    return {
        "partitions": tuple(_on_partitions(parsed, site)),
        "gpus": tuple(_on_resources(parsed.nodes)),
        "virtualClusters": tuple(_on_accounts(parsed, user)),
        "accounts": (f"Those of {user}, with the limits of Slurm; remove them in a profile for all users.",),
        "probe": tuple(_on_probe(parsed.probe)) if parsed.probe else (),
        "reservations": ("Reservations change often; without this key jobs may name any reservation.",),
        "requireTimeLimit": ("JobSubmitPlugins of Slurm has require_timelimit.",),
        "ports": tuple(_on_ports(parsed)),
        "mpi": (f"MpiDefault of Slurm is {parsed.config.mpi_default or 'none'}.",),
    }


def _on_partitions(parsed: Parsed, site: Site) -> Iterator[str]:
    yield "cpus and memoryMB are the amounts for jobs. Nodes that are down or drained are included."
    for record, partition in zip(parsed.partitions, site.partitions.values(), strict=True):
        away = sum(node.away for node in parsed.nodes if record.name in node.partitions)
        if away * _MANY > partition.node_count:
            are = verb(away, "is", "are")
            yield f"{record.name}: {away} of {counted(partition.node_count, 'node')} {are} currently down or drained."
        if bound := record.max_memory_per_cpu:
            yield f"{record.name}: jobs get at least a CPU for each {bound} MiB of memory (MaxMemPerCPU)."
        if not record.is_up:
            yield f"{record.name}: the partition is currently not up."
    several = [node for node in parsed.nodes if len(node.gpu_types) > 1]
    if several:
        have = verb(len(several), "has", "have")
        lost = sum(not node.shape.gpu_types for node in several)
        then = f"; types are omitted for {lost}, because some GPUs have none that sbatch accepts" if lost else ""
        yield f"{counted(len(several), 'node')} {have} GPUs of several types{then}."


def _on_resources(nodes: Iterable[Node]) -> Iterator[str]:
    """Yield the features and generic resources that jobs can request, with the number of nodes of each."""
    features = Counter(name for node in nodes for name in node.shape.features or ())
    others = Counter(name for node in nodes for name in {each.name for each in node.gres} - {GPU})
    if features:
        yield f"Features of nodes, for nodeTypes or infiniband.constraint: {_counted(features)}."
    if others:
        yield f"Other generic resources, for gpus.gres or infiniband.gres: {_counted(others)}."


def _counted(names: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({counted(count, 'node')})" for name, count in sorted(names.items()))


def _on_accounts(parsed: Parsed, user: str) -> Iterator[str]:
    """Yield the accounts of the user. The profile selects none, because it may be for all users."""
    if not parsed.config.has_accounting:
        yield "Slurm has no accounting here: it forgets a job some minutes after its end."
    if parsed.accounts.accounts:
        yield f"Accounts of {user}: {', '.join(parsed.accounts.accounts)}."
    if parsed.accounts.qos:
        yield f"QOS of {user}: {', '.join(parsed.accounts.qos)}."
    if parsed.accounts.accounts or parsed.accounts.qos:
        yield "Add account or qos beside partition to set them for jobs of a virtual cluster."


def _on_probe(probe: Probe) -> Iterator[str]:
    """Yield the properties of one node; others may differ."""
    yield f"The following is from a probe of node {probe.node} (`--probe`); other nodes may differ."
    if probe.inactive:
        yield f"Adapters without an active port: {', '.join(probe.inactive)}."
    if probe.roce:
        names = ", ".join(f"{name} (interface {interface})" for name, interface in probe.roce)
        beside = "; not among the adapters, which are InfiniBand" if probe.adapters else ""
        yield f"Adapters of RoCE (InfiniBand over Ethernet): {names}{beside}."
    shown = [f"{each.name} ({each.address or each.state})" for each in probe.interfaces if each.is_network]
    if shown:
        yield f"Network interfaces: {', '.join(shown)}."
    limit = "unlimited" if probe.memlock_kib is None else f"{probe.memlock_kib} KiB"
    yield f"Memory that a task can lock (ulimit -H -l): {limit}."
    home = "sees your home folder of this machine" if probe.shares_home else "does not see your home folder"
    tmp = "shares /tmp with this machine" if probe.shares_tmp else "has its own /tmp"
    yield f"It {home}, and {tmp}{f', mounted as {probe.own_tmp}' if probe.own_tmp else ''}."
    if probe.mounts:
        yield f"Shared file systems, for storages: {', '.join(f'{path} ({kind})' for kind, path in probe.mounts)}."


def _on_ports(parsed: Parsed) -> Iterator[str]:
    """Yield the ports that are in use."""
    if parsed.ephemeral:
        yield f"Ephemeral ports of this machine: {_range(parsed.ephemeral)}."
    if parsed.probe and parsed.probe.ephemeral:
        yield f"Ephemeral ports of node {parsed.probe.node}: {_range(parsed.probe.ephemeral)}."
    if parsed.config.ports:
        yield f"Ports of Slurm: {', '.join(dict.fromkeys(map(_range, parsed.config.ports)))}."


def _range(ports: tuple[int, int]) -> str:
    first, last = ports
    return f"{first} to {last}" if first < last else f"{first}"


_ASKED = {
    "partitions": ("partitions", "scontrol show partition"),
    "nodes": ("partitions.NAME.nodes", "scontrol show node"),
    "mpi": ("mpi", "srun --mpi=list"),
    "reservations": ("reservations", "scontrol show reservation"),
    "accounts": ("accounts", "sacctmgr show assoc user=$USER format=Account,QOS"),
    "qos": ("qos", "sacctmgr show qos"),
}
"""The key and the command by subject."""
_FIND_RUNTIMES = f"command -v {' '.join(PROGRAMS)}, on a node"
_FIND_STORAGES = "df -t nfs -t nfs4 -t lustre -t gpfs -t beegfs, on a node"
_NO_NODE = "no node was probed"
_NO_MEMORY = 1
"""The RealMemory of a node without RealMemory in slurm.conf."""


def gaps(answers: Answers, parsed: Parsed) -> tuple[Gap, ...]:
    """Return the gaps: first the refusals of Slurm, then values that Slurm does not know."""
    of_nodes = _unknown_to_slurm(answers) if parsed.probe is None else _of_probe(parsed.probe)
    return (*_refused(answers, parsed), *_odd(parsed), *_of_gpus(parsed), *of_nodes)


def _refused(answers: Answers, parsed: Parsed) -> Iterator[Gap]:
    empty = {"partitions": not (parsed.partitions or parsed.odd_names), "nodes": not parsed.nodes}
    for asked, (key, command) in _ASKED.items():
        if asked in answers.refused:
            yield Gap(key=key, reason=answers.refused[asked], command=command)
        elif empty.get(asked):
            yield Gap(key=key, reason="Slurm shows you none", command=command)


def _odd(parsed: Parsed) -> Iterator[Gap]:
    for name in parsed.odd_names:
        reason = f"sbatch does not accept the name {name!r}"
        yield Gap(key="partitions", reason=reason, command="scontrol show partition")
    if any(node.shape.memory_mib == _NO_MEMORY for node in parsed.nodes):
        reason = "slurm.conf has no RealMemory for some nodes, so that Slurm assumes 1 MiB"
        yield Gap(key="partitions.NAME.nodes.memoryMB", reason=reason, command="free -m, on such a node")
    if parsed.ports is None:
        reason = "no range of a thousand free ports exists above 10000; these are the usual ports"
        yield Gap(key="ports", reason=reason, command="sysctl net.ipv4.ip_local_port_range")


def _of_gpus(parsed: Parsed) -> Iterator[Gap]:
    names = {each.name for node in parsed.nodes for each in node.gres}
    if GPU in names and not parsed.are_amd and not (parsed.probe and parsed.probe.vendor):
        reason = "Slurm does not know the vendor of the GPUs"
        yield Gap(key="gpus.vendor", reason=reason, command="ls /dev/nvidia0 /dev/kfd, on a node with GPUs")
    elif names and GPU not in names:
        reason = "no generic resource is called gpu; GPUs may have another name"
        yield Gap(key="gpus.gres", reason=reason, command="scontrol show config | grep GresTypes")


def _unknown_to_slurm(answers: Answers) -> Iterator[Gap]:
    looked = f"no node could be probed: {answers.refused['probe']}" if "probe" in answers.refused else _NO_NODE
    if not answers.runtimes:
        yield Gap(key="containers.runtime", reason="this machine has no known runtime", command=_FIND_RUNTIMES)
    if answers.node_resolves is None:
        yield Gap(key="address", reason="no node name was available for a test", command="getent ahosts NODE")
    command = "ls /sys/class/infiniband /sys/class/net, on a node"
    yield Gap(key="infiniband", reason=looked, command=command)
    yield Gap(key="storages", reason=looked, command=_FIND_STORAGES)


def _of_probe(probe: Probe) -> Iterator[Gap]:
    """Yield properties that a probe of one node cannot determine for all nodes."""
    if not probe.adapters and not probe.roce:
        command = "ls /sys/class/infiniband, on nodes that have it"
        yield Gap(key="infiniband", reason=f"{probe.node} has no active adapter", command=command)
    if not probe.runtimes:
        yield Gap(key="containers.runtime", reason=f"{probe.node} has no known runtime", command=_FIND_RUNTIMES)
    if not probe.shares_home:
        reason = f"{probe.node} does not see a file that was created there on this machine, but jobs need shared files"
        yield Gap(key="PAISLURM_HOME", reason=reason, command="df ~, on a node")
    yield Gap(key="storages", reason="Slurm does not know which folders are for data", command=_FIND_STORAGES)
