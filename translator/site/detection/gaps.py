"""What the detection cannot learn, or was not told: a line for each, with the command that would tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..container_runtimes import PROGRAMS
from .answers import Gap
from .nodes import GPU

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .answers import Answers
    from .parsed import Parsed
    from .probe import Probe

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
