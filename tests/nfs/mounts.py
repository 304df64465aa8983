"""In the guest: an NFS server with the homes of a cluster, a client on each of its hosts, and faults between them.

Each host has a network namespace, so that the kernel gives it a client of its own, with its own caches and connection.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.hosts import call, enter
from tests.cluster.instance import GROUP_ID, USERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.cluster.instance import Instance

THREADS = "4"
HOLE = "99"
"""The number of a routing table."""
SIZE = 48 << 20
"""Bytes of the file system with the homes: a disk that can be filled."""
GRACE_SECONDS = 10
"""The server gives no lock for this time after a restart: clients get back those that they had. The default is 90."""
CACHED = "vers=3,acregmin=3,acdirmin=30,acdirmax=60"
"""The caches of nfs(5) with their default times."""
NEWER = "vers=4.2,nosharecache"
"""The same export by another protocol, with a cache of its own."""
UNCACHED = "vers=3,noac,lookupcache=none"
SOFT = ",soft,timeo=20,retrans=1"
"""A client that gives up after some seconds: calls fail with EIO or ETIMEDOUT. Without it they wait."""

LOCKS = """\
set -e
mkdir -p /run/rpcbind /run/statd/sm /run/statd/sm.bak
touch /run/statd/state
rpcbind -w
rpc.statd --no-notify --state-directory-path /run/statd
"""
"""What locks of NFS 3 need on the server and on each client."""


class NfsServer:
    """The server on the guest itself, and the mounts of the hosts."""

    def __init__(self, instance: Instance, options: Mapping[str, str]) -> None:
        self.instance = instance
        self.options = options
        self.home = instance.folder / "home"
        self.address = f"{instance.subnet}.254"

    def start(self) -> None:
        """Export the homes, which are empty, and mount them on each host."""
        call(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "homes", str(self.home)])
        for user in USERS.values():
            self.instance.home(user.name).mkdir(mode=0o755)
            os.chown(self.instance.home(user.name), user.uid, GROUP_ID)
        call(["mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd"])
        call(["mount", "-t", "tmpfs", "tmpfs", "/var/lib/nfs"])
        for folder in ("rpc_pipefs", "v4recovery"):
            Path("/var/lib/nfs", folder).mkdir()
        for file in ("etab", "rmtab"):
            Path("/var/lib/nfs", file).touch()
        for setting in ("nfsv4gracetime", "nfsv4leasetime"):
            Path("/proc/fs/nfsd", setting).write_text(f"{GRACE_SECONDS}\n")
        # An answer that the server could not send goes with the server.
        Path("/proc/sys/net/ipv4/tcp_max_orphans").write_text("0\n")
        Path("/proc/sys/fs/nfs/nlm_grace_period").write_text(f"{GRACE_SECONDS}\n")
        call(["bash", "-c", LOCKS])
        call(["exportfs", "-o", "rw,sync,no_root_squash,no_subtree_check,fsid=0", f"*:{self.home}"])
        call(["rpc.mountd"])
        call(["rpc.nfsd", THREADS])
        for host, options in self.options.items():
            self.mount(host, options)

    def mount(self, host: str, options: str) -> None:
        """Mount the homes on a host, where they have the same path."""
        source = f"{self.address}:{'/' if 'vers=4' in options else self.home}"
        call([*enter(self.instance, host), "bash", "-c", LOCKS])
        call([*enter(self.instance, host), "mount", "-t", "nfs", "-o", options, source, str(self.home)])

    @contextmanager
    def down(self) -> Iterator[None]:
        """Stop the server for a time. What it remembers of answered requests is lost, its files are not."""
        call(["rpc.nfsd", "0"])
        try:
            yield
        finally:
            call(["rpc.nfsd", THREADS])

    def requests_lost(self, host: str) -> AbstractContextManager[None]:
        """Cut the link from a host to the server."""
        own = self.instance.address(host)
        return _hole(enter(self.instance, host), f"to {self.address}", own)

    @contextmanager
    def answers_lost(self, host: str) -> Iterator[None]:
        """Cut the link from the server to a host: requests are carried out, and the client is not told.

        The server restarts before the link heals: it takes the repeated request for a new one, as servers do that
        have no lasting memory of what they answered.
        """
        with _hole([], f"to {self.instance.address(host)}", self.address):
            try:
                yield
            finally:
                call(["rpc.nfsd", "0"])
        call(["rpc.nfsd", THREADS])

    @contextmanager
    def disk_full(self, left: int = 0) -> Iterator[None]:
        """Fill the disk up to some bytes."""
        filler = self.home / "filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            found = os.statvfs(self.home)
            os.posix_fallocate(file.fileno(), 0, max(1, found.f_bavail * found.f_bsize - left))
        try:
            yield
        finally:
            filler.unlink()


@contextmanager
def _hole(prefix: list[str], words: str, own: str) -> Iterator[None]:
    """Send packets to a device that drops them. A route that forbids them would make calls fail at once."""
    rule = [*words.split(), "lookup", HOLE]
    call([*prefix, "ip", "link", "add", "hole", "type", "dummy"])
    call([*prefix, "ip", "link", "set", "hole", "up"])
    call([*prefix, "ip", "route", "add", "default", "dev", "hole", "src", own, "table", HOLE])
    call([*prefix, "ip", "rule", "add", *rule])
    try:
        yield
    finally:
        call([*prefix, "ip", "rule", "del", *rule])
        call([*prefix, "ip", "link", "del", "hole"])
