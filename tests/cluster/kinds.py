"""Kinds of sites: what the cluster of each has other than the usual one.

A kind has a folder of its name beside this module. Its `slurm.conf` and `slurmdbd.conf` have settings that take the
place of the usual ones, its other files stand beside these, and `host.sh` is what each host does as it starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

OWN = "own"
SLURMS = (OWN, "next", "newest")
"""The Slurms that are tested: the machine's own, that of the next Debian release, and the newest that Debian has."""

NODES = tuple(f"n{number}" for number in range(1, 9))
FOLDER = Path(__file__).with_name("kinds")


@dataclass(frozen=True)
class Kind:
    """What is known of a kind before its cluster is up; its files tell the rest."""

    name: str = ""
    nodes: tuple[str, ...] = NODES
    cgroups: bool = True
    """Whether Slurm uses control groups where the machine has them."""
    accounts: bool = True
    """Whether there is an accounting database."""
    far: str = ""
    """A host that is a cluster of its own, `far`, known to the same accounting database; "" for none."""
    logins: tuple[str, ...] = ()
    """Further login nodes beside `login`, with a /tmp of their own."""
    room: str = "4m"
    """The size of the small file system."""
    spank: bool = False
    """Whether a SPANK plugin is made for the hosts."""
    slurms: tuple[str, ...] = SLURMS
    """The Slurms with which `make test` boots it before the tests; others boot when a test needs them."""

    @property
    def suffix(self) -> str:
        """What ends the name of a cluster's folder."""
        return f"-{self.name}" if self.name else ""

    @property
    def files(self) -> dict[str, str]:
        """The texts of the kind's files by their names; those for the host `far` begin with `far/`."""
        folder = FOLDER / self.name
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file()] if self.name else []
        return {str(path.relative_to(folder)): path.read_text() for path in paths}


USUAL = Kind()
KINDS = {
    kind.name: kind
    for kind in (
        USUAL,
        Kind("cpus", slurms=(OWN,)),
        Kind("sparse", nodes=("n1", "n2", "n3"), cgroups=False, accounts=False),
        Kind("private", nodes=("n1",), accounts=False, slurms=()),
        Kind("backfill", nodes=("n1", "n2"), cgroups=False, accounts=False, slurms=()),
        Kind("builtin", nodes=("n1", "n2"), cgroups=False, accounts=False, slurms=()),
        Kind("nfs", nodes=("n1", "n2"), cgroups=False, accounts=False, slurms=()),
        Kind("rootless", nodes=("n1", "n2"), cgroups=False, accounts=False, slurms=()),
        Kind("logins", nodes=NODES[:4], logins=("login2",), room="3g", slurms=()),
        Kind("slices", nodes=("n1", "n2", "n3"), cgroups=False, slurms=()),
        Kind("limited", nodes=("n1", "n2"), cgroups=False, slurms=()),
        Kind("renames", nodes=("n1", "n2"), cgroups=False, slurms=()),
        Kind("guarded", nodes=("n1", "n2", "n3", "n4"), far="n4", spank=True),
    )
}
"""`cpus`: nodes have the machine's CPUs and bind tasks to them, and n7 and n8 have cores of two threads.

`sparse`: what a small site leaves out. `guarded`: what a large one forbids, adds and puts in the way.
`private`: a job has a /tmp of its own; with several nodes beside each other on one machine that fails at times.
`backfill`: Slurm's default scheduler parameters: a heterogeneous job waits for up to 30 s on an idle cluster.
`builtin`: the scheduler that takes no heterogeneous job. `logins`: two login nodes, and room for many
jobs. `rootless`: nodes on which Podman runs. `renames`: a rule of the site gives jobs other names and comments.
`limited`: the controller holds few jobs. `slices`: a node has GPUs of three types, as with MIG. They are small: each
Slurm boots them for a few cases.
`nfs`: boots in a guest whose kernel mounts NFS, see tests/nfs.
"""


def merged(usual: str, own: str) -> str:
    """Return a configuration in which a kind's own settings stand in the place of the usual ones of their names.

    A kind that has nodes of its own has partitions of its own. A setting without a value is left out.
    """
    keys = {line.partition("=")[0] for line in own.splitlines() if "=" in line and not line.startswith("#")}
    if "NodeName" in keys:
        keys.add("PartitionName")
    kept = [line for line in usual.splitlines() if line.partition("=")[0] not in keys]
    return "\n".join([*kept, *(line for line in own.splitlines() if not line.endswith("="))]) + "\n"
