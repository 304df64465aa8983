"""Hosts without privileges: all are the machine itself, and differ in their ports and names for Slurm."""

from __future__ import annotations

import contextlib
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster import unpacked
from tests.cluster.instance import ADMINISTRATOR, LOGIN, ClusterError, Instance, digest
from tests.cluster.kinds import KINDS, SLURMS

if TYPE_CHECKING:
    from collections.abc import Iterator

SLURMCTLD, SLURMD, SLURMDBD = 6817, 6818, 6819
"""The usual ports."""
FIRST_PORT, SIZE, BLOCKS = 10_000, 16, 1_375
"""Each cluster has a block of ports, below those that the kernel gives to connections."""

GETENT = r"""#!/bin/bash
# The machine knows no names of nodes.
names=${BASH_SOURCE[0]%/bin/*}/hosts
if [[ $1 == *hosts* ]] && grep -q " ${*: -1}\$" "$names"; then
  for name in "${@:2}"; do
    awk -v "name=$name" '$2 == name { print $1, "STREAM", name }' "$names"
  done
else
  exec /usr/bin/getent "$@"
fi
"""


def environment(instance: Instance, host: str = LOGIN) -> dict[str, str]:
    """Return the variables by which programs find this cluster's daemons, and by which these processes are found."""
    names = {} if host == LOGIN else {"SLURMD_NODENAME": host}
    folders = (instance.etc, unpacked.root(instance.suite), unpacked.root(unpacked.FIRST))
    programs = ":".join(f"{folder}/bin" for folder in folders)
    return names | {
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "SLURM_CONF": f"{instance.etc}/slurm/slurm.conf",
    }


def residents(instance: Instance, hosts: tuple[str, ...] = ()) -> Iterator[int]:
    """Find the processes of the cluster, or of some of its nodes, by their variables."""
    ours = f"SLURM_CONF={instance.etc}/slurm/slurm.conf".encode()
    names = {f"SLURMD_NODENAME={host}".encode() for host in hosts}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            variables = set((folder / "environ").read_bytes().split(b"\0"))
            if ours in variables and (not hosts or names & variables):
                yield int(folder.name)


def choose_subnet(instance: Instance) -> str:
    """Return three numbers, as of addresses, that stand for a block of ports of which none is taken.

    Clusters of a checkout, which may boot at once, begin to look at different ones.
    """
    place = SLURMS.index(instance.slurm) * len(KINDS) + list(KINDS).index(instance.kind.name)
    first = int(digest(instance.shared), 16) + place
    for number in (each % BLOCKS for each in range(first, first + BLOCKS)):
        if not any(map(is_taken, range(FIRST_PORT + SIZE * number, FIRST_PORT + SIZE * (number + 1)))):
            return f"127.{64 + number // 256}.{number % 256}"
    raise ClusterError("no ports are free")


def port(instance: Instance, host: str, usual: int) -> int:
    """Return where a daemon listens on all addresses, instead of at its usual port on its host's."""
    _, high, low = map(int, instance.subnet.split("."))
    first = FIRST_PORT + SIZE * ((high - 64) * 256 + low)
    return first + (instance.hosts.index(host) if usual == SLURMD else SIZE - 1 - (usual == SLURMCTLD))


def is_taken(number: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", number)) == 0


def settings(instance: Instance) -> dict[str, str]:
    """Return the settings of Slurm's files that stand in the place of those of hosts with namespaces."""
    name = socket.gethostname().partition(".")[0]
    login, plugins = instance.address(LOGIN), f"{unpacked.root(instance.suite)}/usr/lib"
    both = {
        "AuthInfo": f"socket={instance.run}/munge/munge.socket.2",
        "PluginDir": str(next(Path(plugins).glob("*/slurm-wlm"))),
    }
    of_slurm = both | {
        "SlurmctldHost": f"{name}({login})",
        "SlurmdUser": ADMINISTRATOR,
        "SlurmctldPort": str(port(instance, LOGIN, SLURMCTLD)),
        "SlurmctldPidFile": f"{instance.run}/slurm/slurmctld.pid",
        # PMIx has a folder there for each step, and its nodes would share it.
        "TmpFS": f"{instance.folder}/spool/%n",
        "SlurmdPidFile": f"{instance.run}/slurm/slurmd-%n.pid",
        "AccountingStorageHost": login,
        "AccountingStoragePort": str(port(instance, LOGIN, SLURMDBD)),
        # Without it the controller ends.
        "AccountingStoragePass": f"{instance.run}/munge/munge.socket.2",
    }
    of_database = both | {
        "DbdHost": name,
        "DbdAddr": login,
        "DbdPort": str(port(instance, LOGIN, SLURMDBD)),
        "PidFile": f"{instance.run}/slurm/slurmdbd.pid",
    }
    files = {"slurm.conf": of_slurm, "slurmdbd.conf": of_database}
    return {file: "".join(f"{key}={value}\n" for key, value in values.items()) for file, values in files.items()}


def with_addresses(instance: Instance, text: str) -> str:
    """Return a slurm.conf whose nodes are this machine, each with a port of its own."""
    name = socket.gethostname().partition(".")[0]

    def addressed(line: re.Match[str]) -> str:
        first, last = int(line[1]), int(line[2] or line[1])
        ports = f"[{port(instance, f'n{first}', SLURMD)}-{port(instance, f'n{last}', SLURMD)}]"
        return f"{line[0]} NodeAddr={instance.address(LOGIN)} NodeHostname={name} Port={ports}"

    return re.sub(r"^NodeName=n\[?(\d+)(?:-(\d+)\])?(?= )", addressed, text, flags=re.MULTILINE)
