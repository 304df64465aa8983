"""A machine without Slurm, from which a login node of the cluster is reached by a real sshd alone."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.children import child
from tests.cluster import hosts
from tests.cluster.instance import CHECKOUT, GROUP_ID, LOGIN, USERS, require_privilege
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.cluster.cluster import Cluster
    from tests.cluster.instance import Instance

ANN = 21101
"""The number of the laptop's user, which the cluster does not know; there she is alice."""
LOGIN_PROFILES = ".login-profiles"
RELAY = """
import select, socket, sys, threading
# Passes bytes on to a login node. The first connection is cut after some bytes, unless that is -1.
host, port, limit, counted = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
door = socket.socket()
door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
door.bind(("127.0.0.1", port))
door.listen(50)
print("ready", flush=True)
def serve(here, limit):
    there = socket.create_connection((host, 22))
    passed = 0
    while True:
        for end in select.select([here, there], [], [])[0]:
            data = end.recv(4096)
            if data and 0 <= limit < passed + len(data):
                data = b""
                with open(counted, "a") as file:
                    file.write(f"cut {passed}\\n")
            if not data:
                for each in (here, there):
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0")
                    each.close()
                return
            passed += len(data)
            (there if end is here else here).sendall(data)
            if limit < 0:
                with open(counted, "w") as file:
                    file.write(str(passed))
while True:
    here, _ = door.accept()
    threading.Thread(target=serve, args=(here, limit), daemon=True).start()
    limit = 1 << 60
"""


@dataclass
class Laptop:
    """The machine of ann, who is alice on the cluster; `holder` is the process through which one enters it."""

    cluster: Cluster
    folder: Path
    holder: subprocess.Popen[bytes]
    stack: ExitStack
    """What ends with the laptop."""
    number: int
    """The last number of its address."""

    @property
    def pid(self) -> str:
        """The first process of the laptop."""
        return Path(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children").read_text().strip()

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def login(self) -> str:
        """The login node's address."""
        return self.cluster.address(LOGIN)

    def command(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> list[str]:
        """Return the command that runs another as ann, by exec alone."""
        enter = ["nsenter", f"--target={self.pid}", "--mount", "--uts", "--net", "--pid"]
        variables = {"HOME": "/home/ann", "USER": "ann", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **(env or {})}
        identity = ["setpriv", f"--reuid={ANN}", f"--regid={ANN}", "--clear-groups"]
        return [*enter, *identity, "env", "-i", "--chdir=/home/ann", *(f"{k}={v}" for k, v in variables.items()), *argv]

    def run(
        self, *argv: str, env: Mapping[str, str] | None = None, stdin: str = "", timeout: float = 300
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(argv, env), input=stdin, capture_output=True, text=True, timeout=timeout, check=False
        )

    def popen(self, *argv: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        started = child(self.command(argv, env), stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True)
        return self.stack.enter_context(started)

    def kill(self, process: subprocess.Popen[str]) -> None:
        """Kill a program without warning; what was started is the one that entered the laptop for it, and waits."""
        (pid,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(pid), signal.SIGKILL)
        process.wait()

    @contextmanager
    def login_profile(self, text: str) -> Iterator[None]:
        """Have alice's login shells read a text, but only those that this laptop logs in to."""
        own = self.cluster.home("alice") / LOGIN_PROFILES / self.address
        own.write_text(text)
        try:
            yield
        finally:
            own.unlink()

    def write(self, name: str, text: str) -> Path:
        """Write a file of ann's."""
        path = self.home / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)
        for each in (path, path.parent):
            os.chown(each, ANN, ANN)
        return path

    def knows(self, *names: str) -> None:
        """Have the key of the login node in known_hosts, under these names."""
        key = (self.cluster.instance.folder / "ssh_host_ed25519_key.pub").read_text().strip()
        self.write(".ssh/known_hosts", "".join(f"{name} {key}\n" for name in (self.login, *names)))

    def logins(self) -> int:
        """Return how often somebody was let in at the login node with this laptop's key."""
        log = (self.cluster.instance.log / "sshd.log").read_text()
        return log.count(f"Accepted publickey for alice from {self.address}")

    @property
    def address(self) -> str:
        return f"{self.cluster.instance.subnet}.{self.number}"

    def relay(self, port: int, limit: int) -> Path:
        """Pass connections on to the login node; the first is cut after so many bytes, and none where that is -1.

        Returns a file in which a line tells of the cut, or how many bytes were passed on.
        """
        counted = self.write(f"relay-{port}", "")
        argv = ["python3", "-c", RELAY, self.login, str(port), str(limit), f"/home/ann/{counted.name}"]
        process = self.popen(*argv)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return counted


def laptops(cluster: Cluster) -> Iterator[Laptop]:
    """Have a laptop; all that runs there ends with it."""
    require_privilege("a second machine")
    instance = cluster.instance
    number = next_number(instance)
    folder = instance.folder.with_name(f"{instance.folder.name}-laptop-{number}")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "home" / ".ssh").mkdir(parents=True)
    (folder / "etc").mkdir()
    passwd = Path("/etc/passwd").read_text() + f"ann:x:{ANN}:{ANN}::/home/ann:/bin/bash\n"
    (folder / "etc" / "passwd").write_text(passwd)
    (folder / "etc" / "hosts").write_text(f"127.0.0.1 localhost\n{cluster.address(LOGIN)} login1\n")
    (folder / "etc" / "nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files\n")
    key = folder / "home" / ".ssh" / "id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"ann-{number}", "-f", str(key)], check=True)
    allow(cluster, key.with_suffix(".pub").read_text())
    for path in (folder / "home", key.parent, *key.parent.iterdir()):
        os.chown(path, ANN, ANN)
    key.parent.chmod(0o700)
    unshare = ["unshare", "--mount", "--uts", "--net", "--ipc", "--pid", "--fork", "--kill-child"]
    script = Path(__file__).with_suffix(".sh")
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        argv = [*unshare, "bash", script, folder, instance.folder, CHECKOUT]
        laptop = Laptop(cluster, folder, stack.enter_context(child(argv)), stack, number)
        wait_until((folder / "ready").exists, "the laptop does not start")
        plug_in(laptop)
        laptop.knows("login1")
        read_own_profiles(cluster.home("alice"))
        laptop.write(".ssh/config", "Host login1\n  User alice\n")
        yield laptop


def next_number(instance: Instance) -> int:
    """Return a number that no laptop of the cluster has, and none had lately: a file has a byte for each."""
    with (instance.run / "laptops").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        taken = os.fstat(file.fileno()).st_size
        file.write(".")
    return 100 + taken % 150


def allow(cluster: Cluster, public_key: str) -> None:
    """Let the owner of a key in as alice."""
    folder = cluster.home("alice") / ".ssh"
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "authorized_keys").open("a") as file:
        file.write(public_key)
    for path in (folder, folder / "authorized_keys"):
        os.chown(path, USERS["alice"].uid, GROUP_ID)


def read_own_profiles(home: Path) -> None:
    """Have login shells read what the machine that they come from has left for them."""
    (home / LOGIN_PROFILES).mkdir(exist_ok=True)
    profile = home / ".bash_profile"
    new = home / f".bash_profile.{os.getpid()}"
    new.write_text(f'own=~/{LOGIN_PROFILES}/${{SSH_CLIENT%% *}}\nif [ -r "$own" ]; then . "$own"; fi\n')
    new.replace(profile)


def plug_in(laptop: Laptop) -> None:
    """Join the laptop to the network of the login node; the device goes with it."""
    instance = laptop.cluster.instance
    pid = laptop.pid
    name = f"lap{laptop.number}"
    hosts.ip_on(
        instance, LOGIN, [f"link add {name} type veth peer name eth0 netns {pid}", f"link set {name} master br0 up"]
    )
    prefix = ["nsenter", f"--target={pid}", "--net"]
    hosts.ip([f"address add {laptop.address}/24 dev eth0", "link set eth0 up"], prefix)
