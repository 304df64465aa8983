"""A file server, and the file operations of its clients.

Opening asks the server; written data reach it at once, or with `cached` at fsync or close; the end of a file to append
to is that of the last answer. Source: nfs(5), data and metadata coherence.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from .knowledge import Knowledge
from .nodes import Disk, Opened, ReadFile, WrittenFile, error

if TYPE_CHECKING:
    from .nodes import Status
    from .world import World

FIRST_DESCRIPTOR = 1_000_000


class Server(Disk):
    """The folders and files that all hosts share, and the client of each host."""

    def __init__(self, world: World, *, cached: bool) -> None:
        super().__init__(world)
        self.cached = cached
        self.clients = _Clients(self)


class _Clients(dict[str, "Client"]):
    """The client of each host."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def __missing__(self, host: str) -> Client:
        self[host] = Client(self._server)
        return self[host]


class Client(Knowledge):
    """The file operations of one host. Each raises OSError, as the system does."""

    def __init__(self, server: Server) -> None:
        super().__init__(server.world, server.root, cached=server.cached)
        self._server = server
        self._next = FIRST_DESCRIPTOR

    # Attributes

    def stat(self, path: str | int, at: int | None = None) -> Status:
        """Return attributes, perhaps from the cache."""
        self._world.step("stat", path)
        node = self._find(path, at)
        if isinstance(path, int) or not self._cached:
            return node.known_status or node.status()
        status, until = self._attributes.get(node, (None, 0.0))
        if status is not None and until > self._world.now:
            return status
        if not node.nlink:
            # The server does not know the file any more: the client looks the name up again.
            node = self._find(path, at, asks=True)
        return self._fetch(node)

    def utime(self, path: str | int, mtime: float | None, at: int | None = None) -> None:
        """Set the time of a file: the server's, or a given one."""
        self._world.step("utime", path, "now" if mtime is None else mtime)
        node = self._find(path, at)
        if not node.nlink:
            raise error(errno.ESTALE if self._cached else errno.ENOENT, path)
        now = self._world.now
        node.changed(mtime=now if mtime is None else mtime, ctime=now)
        self._fetch(node)

    def chmod(self, path: str | int, mode: int, at: int | None = None) -> None:
        """Set the mode."""
        node = self._find(path, at)
        node.mode = stat.S_IFMT(node.mode) | mode
        node.changed()

    # Folders

    def mkdir(self, path: str, mode: int, at: int | None = None) -> None:
        """Make a folder; of several clients, one does."""
        self._world.step("mkdir", path)
        parent, name, found = self._walk(path, at, asks=True)
        if found is not None:
            raise error(errno.EEXIST, path)
        self._check_room(path)
        self._own_change(parent, name, self._server.new(stat.S_IFDIR | mode))
        self._lose_answer(errno.EEXIST, path)

    def rmdir(self, path: str, at: int | None = None) -> None:
        """Remove an empty folder."""
        self._world.step("rmdir", path)
        parent, name, found = self._walk(path, at, asks=True)
        if found is None:
            raise error(errno.ENOENT, path)
        if not found.is_folder:
            raise error(errno.ENOTDIR, path)
        if found.entries:
            raise error(errno.ENOTEMPTY, path)
        found.changed(links=-1)
        self._own_change(parent, name, None)

    def names(self, path: str | int) -> list[str]:
        """List a folder: opening it asks the server."""
        self._world.step("list", path)
        node = self._find(path)
        if not node.is_folder:
            raise error(errno.ENOTDIR, path)
        if not node.nlink:
            node = self._find(path, asks=True)
        self._refresh(node)
        return list(node.entries)

    def rename(self, old: str, new: str, old_at: int | None = None, new_at: int | None = None) -> None:
        """Give another name, in one step for all clients."""
        self._world.step("rename", old, new)
        parent, name, node = self._walk(old, old_at, asks=True)
        to, new_name, found = self._walk(new, new_at, asks=True)
        if node is None:
            raise error(errno.ENOENT, old)
        if found is node:
            return
        if found is not None:
            if found.is_folder != node.is_folder:
                raise error(errno.EISDIR if found.is_folder else errno.ENOTDIR, new)
            if found.entries:
                raise error(errno.ENOTEMPTY, new)
            found.changed(links=-1)
        self._own_change(parent, name, None)
        self._own_change(to, new_name, node)
        self._lose_answer(errno.ENOENT, old)

    def link(self, old: str, new: str) -> None:
        """Give a second name; of several clients, one does. The server's answer may be lost."""
        self._world.step("link", old, new)
        node = self._find(old)
        parent, name, found = self._walk(new, asks=True)
        if found is not None:
            raise error(errno.EEXIST, new)
        node.changed(ctime=self._world.now, links=1)
        self._own_change(parent, name, node)
        self._lose_answer(errno.EEXIST, new)
        self._attributes.pop(node, None)

    def unlink(self, path: str, at: int | None = None) -> None:
        """Remove a name."""
        self._world.step("unlink", path)
        parent, name, found = self._walk(path, at, asks=True)
        if found is None:
            raise error(errno.ENOENT, path)
        if found.is_folder:
            raise error(errno.EISDIR, path)
        found.changed(links=-1)
        self._own_change(parent, name, None)

    # Files

    def open(self, path: str, flags: int, mode: int = 0o600, at: int | None = None) -> int:
        """Open a file or folder, and return its descriptor."""
        self._world.step("open", path)
        create = flags & os.O_CREAT != 0
        parent, name, node = self._walk(path, at, asks=create)
        if node is not None and not node.nlink:
            parent, name, node = self._walk(path, at, asks=True)
        if node is None:
            if not create:
                raise error(errno.ENOENT, path)
            self._check_room(path)
            node = self._server.new(stat.S_IFREG | mode)
            self._own_change(parent, name, node)
        elif create and flags & os.O_EXCL:
            raise error(errno.EEXIST, path)
        if node in self._unsent:
            self._send(node)
        if node.is_folder:
            self._refresh(node)
        elif flags & os.O_DIRECTORY:
            raise error(errno.ENOTDIR, path)
        elif flags & os.O_TRUNC:
            node.data = b""
            node.changed()
        self._fetch(node)
        self._next += 1
        self._opened[self._next] = Opened(node, flags)
        return self._next

    def write(self, descriptor: int, data: bytes) -> int:
        """Write at the end of what is open: on the server at once, or on the client until `sync`."""
        node = (opened := self._opened[descriptor]).node
        self._world.step("write", len(data), "bytes to", node.number, data[:60])
        if self._unsent.get(node, opened) is not opened:
            self._send(node)
        start = len(node.data) if opened.flags & os.O_APPEND and not opened.pending else opened.offset
        if self._cached:
            opened.pending.append((start, data))
            self._unsent[node] = opened
        else:
            if self._world.fault(1, 0.02):
                data = data[: self._world.choices.choose(len(data))]
                self._world.tell("the disk is full")
                if not data:
                    raise error(errno.ENOSPC, descriptor)
            node.store(start, data, self._world.now)
        opened.offset = start + len(data)
        return len(data)

    def sync(self, descriptor: int) -> None:
        """Send what is written to the server."""
        opened = self._opened[descriptor]
        self._world.step("sync", opened.node.number)
        if not opened.pending:
            return
        if not opened.node.nlink:
            self._drop(opened)
            raise error(errno.ESTALE, descriptor)
        if self._world.fault(2, 0.01):
            self._drop(opened)
            self._world.tell("the disk is full, or the server has an error")
            raise error(errno.ENOSPC if self._world.choices.choose(2) else errno.EIO, descriptor)
        self._send(opened.node)

    def close(self, descriptor: int) -> None:
        """Close a file. What was written goes to the server."""
        try:
            if self._opened[descriptor].pending:
                self.sync(descriptor)
        finally:
            opened = self._opened.pop(descriptor)
            self._drop(opened)
            if opened.node.locked is opened:
                opened.node.locked = None

    def lock(self, descriptor: int, *_: int) -> None:
        """Lock a file for one descriptor until it is closed, or its process is killed."""
        opened = self._opened[descriptor]
        self._world.step("lock", opened.node.number)
        owner = opened.node.locked
        if owner is not None and not (owner.process and owner.process.dead):
            raise error(errno.EAGAIN, descriptor)
        opened.node.locked, opened.process = opened, self._world.current

    def read(self, descriptor: int, count: int, offset: int) -> bytes:
        """Return bytes as they were at the last answer of the server."""
        return self._opened[descriptor].node.data[offset : offset + count]

    def file(self, descriptor: int, mode: str = "r", **_: object) -> ReadFile | WrittenFile:
        """Return a file object of a descriptor."""
        if "r" in mode:
            return ReadFile(self, descriptor, self._opened[descriptor].data)
        return WrittenFile(self, descriptor)

    def _lose_answer(self, number: int, path: object) -> None:
        """Lose the answer to a change: the client asks once more, and the server finds that already done."""
        if self._cached and self._world.fault(1, 0.01):
            self._world.tell("the answer is lost:", path)
            raise error(number, path)

    def _check_room(self, path: object) -> None:
        if self._world.fault(1, 0.005):
            self._world.tell("the disk is full:", path)
            raise error(errno.ENOSPC, path)
