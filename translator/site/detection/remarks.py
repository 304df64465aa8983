"""What a person should know beside the settings: it becomes comments in the profile."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ...plural import counted, verb
from ..containers import PROGRAMS
from .answers import Gap
from .nodes import GPU

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..profile import Site
    from .answers import Answers, Parsed
    from .nodes import Node
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


_ASKED = {
    "partitions": ("partitions", "scontrol show partition"),
    "nodes": ("partitions.NAME.nodes", "scontrol show node"),
    "mpi": ("mpi", "srun --mpi=list"),
    "reservations": ("reservations", "scontrol show reservation"),
    "accounts": ("accounts", "sacctmgr show assoc user=$USER format=Account,QOS"),
    "qos": ("qos", "sacctmgr show qos"),
}
"""The key and the command by what was asked for."""
_NO_NODE = "no node was looked at"
_NO_MEMORY = 1
"""RealMemory of a node whose line in slurm.conf does not have it."""


def gaps(answers: Answers, parsed: Parsed) -> tuple[Gap, ...]:
    """Return what was not learnt: first what Slurm would not say, then what it does not know."""
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
        reason = f"sbatch cannot be given the name {name!r}"
        yield Gap(key="partitions", reason=reason, command="scontrol show partition")
    if any(node.shape.memory_mib == _NO_MEMORY for node in parsed.nodes):
        reason = "slurm.conf does not have the memory of some nodes, which is then 1 MiB to Slurm"
        yield Gap(key="partitions.NAME.nodes.memoryMB", reason=reason, command="free -m, on such a node")
    if parsed.ports is None:
        reason = "no thousand ports in a row are free above 10000; these are the usual ones"
        yield Gap(key="ports", reason=reason, command="sysctl net.ipv4.ip_local_port_range")


def _of_gpus(parsed: Parsed) -> Iterator[Gap]:
    names = {each.name for node in parsed.nodes for each in node.gres}
    if GPU in names and not parsed.are_amd and not (parsed.probe and parsed.probe.vendor):
        reason = "Slurm does not know whose GPUs they are"
        yield Gap(key="gpus.vendor", reason=reason, command="ls /dev/nvidia0 /dev/kfd, on a node with GPUs")
    elif names and GPU not in names:
        reason = "nothing here is called gpu, though GPUs may have another name"
        yield Gap(key="gpus.gres", reason=reason, command="scontrol show config | grep GresTypes")


def _unknown_to_slurm(answers: Answers) -> Iterator[Gap]:
    looked = f"no node could be looked at: {answers.refused['probe']}" if "probe" in answers.refused else _NO_NODE
    if not answers.runtimes:
        command = f"command -v {' '.join(PROGRAMS)}, on a node"
        yield Gap(key="containers.runtime", reason="this machine has none that is known", command=command)
    if answers.node_resolves is None:
        yield Gap(key="address", reason="there is no node whose name could be tried", command="getent ahosts NODE")
    command = "ls /sys/class/infiniband /sys/class/net, on a node"
    yield Gap(key="infiniband", reason=looked, command=command)
    command = "df -t nfs -t nfs4 -t lustre -t gpfs -t beegfs, on a node"
    yield Gap(key="storages", reason=looked, command=command)


def _of_probe(probe: Probe) -> Iterator[Gap]:
    """Yield what one node cannot tell of all."""
    if not probe.adapters:
        command = "ls /sys/class/infiniband, on nodes that have it"
        yield Gap(key="infiniband", reason=f"{probe.node} has no active adapter", command=command)
    if not probe.runtimes:
        command = f"command -v {' '.join(PROGRAMS)}, on a node"
        yield Gap(key="containers.runtime", reason=f"{probe.node} has none that is known", command=command)
    if not probe.shares_home:
        reason = f"{probe.node} does not see a file that was made in it here, and jobs keep their files there"
        yield Gap(key="PAISLURM_HOME", reason=reason, command="df ~, on a node")
    command = "df -t nfs -t nfs4 -t lustre -t gpfs -t beegfs, on a node"
    yield Gap(key="storages", reason="Slurm does not know which folders are for data", command=command)
