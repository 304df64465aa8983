"""One cluster's folder, and the names, addresses and paths that derive from it."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import pwd
import socket
from dataclasses import dataclass
from pathlib import Path
from unittest import SkipTest

from tests.cluster.kinds import NODES, OWN, USUAL, Kind
from tests.needs import other_users, works

TOOL = Path(__file__).resolve().parent
CHECKOUT = TOOL.parents[1]

LOGIN = "login"
HOSTS = (LOGIN, *NODES)


class ClusterError(Exception):
    """The cluster cannot do what was asked; the text says what and where to look."""


NEEDS_HOSTS = "needs root and namespaces, for {}"
"""Why a test is skipped where clusters do without privileges."""
TWO_USERS = "a user who is not Slurm's administrator"


class PrivilegeError(ClusterError, SkipTest):
    """The cluster would need a privilege that this process lacks; pytest skips a test that raises it."""


@functools.cache
def unprivileged() -> bool:
    """Return whether this process lacks namespaces and other users, so that its hosts are the machine itself."""
    has_ip = ("sh", "-c", "! command -v ip || ip link set lo up")
    return not (other_users() and works("unshare", "--mount", "--uts", "--net", "--ipc", *has_ip))


def require_privilege(what: str) -> None:
    """Raise PrivilegeError if clusters of this process do without hosts of their own."""
    if unprivileged():
        raise PrivilegeError(NEEDS_HOSTS.format(what))


@dataclass(frozen=True)
class User:
    """An ordinary user of the cluster."""

    name: str
    uid: int
    accounts: tuple[str, ...]
    """Slurm accounts; the first is the default."""
    has_venv: bool
    """Whether the project's virtual environment is on the user's PATH."""


USERS = {
    user.name: user
    for user in (
        User("alice", 21001, accounts=("research", "extra"), has_venv=True),
        User("bob", 21002, accounts=("research",), has_venv=False),
        User("dave", 21003, accounts=("research",), has_venv=False),
    )
}
GROUP_NAME = "users21000"
GROUP_ID = GROUP = 21000
NUMBERS = {name: user.uid for name, user in USERS.items()}
"""Users and their group for tests without a cluster, whatever users its hosts have."""
if unprivileged():
    # The one user that there is, who may have no name in a container.
    names = [entry.pw_name for entry in pwd.getpwall() if entry.pw_uid == os.getuid()]
    USERS["alice"] = User(next(iter(names), str(os.getuid())), os.getuid(), USERS["alice"].accounts, has_venv=True)
    GROUP_ID = os.getgid()
ALICE = USERS["alice"].name
PRESENT = {name: user for name, user in USERS.items() if name == "alice" or not unprivileged()}
"""The users that a cluster of this process can have."""
ADMINISTRATOR = ALICE if unprivileged() else "root"


SUITES = {"next": "trixie", "newest": "sid"}
"""The Debian suites that have the other Slurms. Which versions these are changes: tests read them."""


@dataclass(frozen=True)
class Instance:
    """Everything that tells one cluster from another on the same machine."""

    folder: Path
    slurm: str = OWN
    """Which Slurm, of SLURMS; another one than the machine's comes with a root tree."""
    kind: Kind = USUAL
    """What the site has other than the usual one."""

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.kind.nodes

    @property
    def hosts(self) -> tuple[str, ...]:
        return (LOGIN, *self.kind.logins, *self.nodes)

    @property
    def near_nodes(self) -> tuple[str, ...]:
        """The nodes of the cluster whose controller is on login."""
        return tuple(node for node in self.nodes if node != self.kind.far)

    @property
    def base(self) -> Path:
        """The folder of what clusters of one Slurm share, of whatever kind: the virtual environment."""
        return self.folder.with_name(self.folder.name.removesuffix(self.kind.suffix))

    @property
    def suite(self) -> str:
        """Return the Debian suite that the hosts are made of."""
        own = "bookworm" if unprivileged() else platform.freedesktop_os_release().get("VERSION_CODENAME", "")
        return SUITES.get(self.slurm, own)

    @property
    def has_own_tree(self) -> bool:
        """Whether the hosts have a root tree of another Debian suite, and not the machine's."""
        return self.slurm in SUITES and not unprivileged()

    @property
    def shared(self) -> Path:
        """The folder of what clusters of one checkout share: the container image. It is that of the machine's Slurm."""
        return self.base.with_name(self.base.name.removesuffix(f"-{self.slurm}"))

    @property
    def tag(self) -> str:
        """Eight hexadecimal digits that stand for the folder in names outside of it."""
        return digest(self.folder)

    @property
    def link(self) -> str:
        """Name of the one network device on the machine's side; the kernel allows 15 characters."""
        return f"pai-{self.tag}"

    @property
    def run(self) -> Path:
        return self.folder / "run"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def etc(self) -> Path:
        """Files that lie over /etc on every host."""
        return self.folder / "etc"

    @property
    def venv(self) -> Path:
        return self.base / "venv"

    @property
    def small(self) -> Path:
        """A file system, of 4 MiB in most kinds, that all hosts share, and nobody else has, and that alice can fill."""
        return self.folder / "small"

    @property
    def subnet(self) -> str:
        """First three numbers of the hosts' addresses; known once the cluster was booted."""
        return (self.run / "subnet").read_text().strip()

    def home(self, user: str) -> Path:
        return self.folder / "home" / user

    def pidfile(self, process: str) -> Path:
        return self.run / f"{process}.pid"

    def address(self, host: str) -> str:
        if unprivileged():
            return machine_address()
        return f"{self.subnet}.{1 + 10 * (host != LOGIN) + max(0, self.hosts.index(host) - 1)}"


def host_name(host: str) -> str:
    """Return what a program on a host learns as its name."""
    return socket.gethostname() if unprivileged() else host


@functools.cache
def machine_address() -> str:
    """Return the address by which the machine reaches others, which is not a loopback one if it has a network."""
    with contextlib.suppress(OSError), socket.socket(type=socket.SOCK_DGRAM) as asked:
        asked.connect(("192.0.2.1", 9))  # sends nothing
        return str(asked.getsockname()[0])
    return "127.0.0.1"


def digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:8]


def default_instance(slurm: str = OWN, kind: Kind = USUAL) -> Instance:
    """Return the checkout's own cluster of a Slurm and a kind; PAISLURM_CLUSTER_DIR names the machine's folder."""
    named = os.environ.get("PAISLURM_CLUSTER_DIR")
    key = digest(Path(f"{CHECKOUT}~{os.getuid()}") if unprivileged() else CHECKOUT)
    folder = Path(named) if named else Path(f"/var/tmp/paislurm-cluster-{key}")
    folder = Path(os.path.realpath(folder))
    for hidden in () if unprivileged() else ("/tmp", "/run", "/dev/shm"):
        if folder.is_relative_to(hidden):
            raise ClusterError(f"{folder}: nodes have a {hidden} of their own; choose a folder elsewhere")
    suffix = f"-{slurm}" if slurm in SUITES else ""
    return Instance(folder.with_name(f"{folder.name}{suffix}{kind.suffix}"), slurm, kind)
