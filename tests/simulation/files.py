"""A file server, and its clients with the caches of NFS.

Without `cached` every client sees the server, as processes of one machine do. With it, a client trusts attributes of a
file for 3 s and of a folder for 30 s, among them names that did not exist; opening asks the server; written data
reach it at fsync or close; the end of a file to append to is that of the last answer.
Source: nfs(5), data and metadata coherence, acregmin and acdirmin.
"""

from __future__ import annotations

import errno
import os
import stat
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from .world import World

FILE_SECONDS, FOLDER_SECONDS = 3.0, 30.0
FIRST_DESCRIPTOR = 1_000_000


def error(number: int, path: object) -> OSError:
    """Return the error that the system would raise."""
    return OSError(number, os.strerror(number), str(path))


class Node:
    """A file or a folder on the server. `version` counts the changes of a folder."""

    __slots__ = ("ctime", "data", "entries", "mode", "mtime", "nlink", "number", "version")

    def __init__(self, number: int, mode: int, now: float) -> None:
        self.number = number
        self.mode = mode
        self.data = bytearray()
        self.entries: dict[str, Node] = {}
        self.mtime = self.ctime = now
        self.nlink = 1
        self.version = 0

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.mode)

    def changed(self, now: float) -> None:
        """Note a change of a folder's names."""
        self.version += 1
        self.mtime = self.ctime = now


class Server:
    """The folders and files that all hosts share."""

    def __init__(self, world: World, *, cached: bool) -> None:
        self.world = world
        self.cached = cached
        self._last = 1
        self.root = self.new(stat.S_IFDIR | 0o755)
        self.clients: dict[str, Client] = {}

    def new(self, mode: int) -> Node:
        """Return a new file or folder without a name."""
        self._last += 1
        return Node(self._last, mode, self.world.now)

    def client(self, host: str) -> Client:
        """Return the client of a host."""
        if host not in self.clients:
            self.clients[host] = Client(self)
        return self.clients[host]

    def find(self, path: str) -> Node | None:
        """Return what has a path on the server now."""
        node: Node | None = self.root
        for name in path.strip("/").split("/"):
            node = node.entries.get(name) if node is not None else None
        return node


class Opened:
    """An open file. `pending` are written bytes that the server does not have."""

    def __init__(self, node: Node, flags: int, data: bytes) -> None:
        self.node = node
        self.flags = flags
        self.data = data
        self.offset = 0
        self.pending: list[tuple[int, bytes]] = []


class _Known:
    """What a client knows of a folder: the version that it saw, until when it trusts that, and its own count."""

    __slots__ = ("generation", "until", "version")

    def __init__(self, version: int, until: float) -> None:
        self.version = version
        self.until = until
        self.generation = 0


class Client:
    """The file operations of one host. Each raises OSError, as the system does."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._world = server.world
        self._folders: dict[int, _Known] = {}
        self._names: dict[tuple[int, str], tuple[Node | None, int]] = {}
        self._attributes: dict[int, tuple[os.stat_result, float]] = {}
        self._opened: dict[int, Opened] = {}
        self._next = FIRST_DESCRIPTOR

    # Names

    def _refresh(self, folder: Node) -> _Known:
        """Ask the server for a folder's attributes."""
        known = self._folders.get(folder.number)
        if known is None:
            known = self._folders[folder.number] = _Known(folder.version, 0)
        elif known.version != folder.version:
            known.version = folder.version
            known.generation += 1
        known.until = self._world.now + FOLDER_SECONDS
        return known

    def _own_change(self, folder: Node, name: str, node: Node | None) -> None:
        """Change a name on the server. The client keeps what it knows of others, unless these changed meanwhile."""
        known = self._folders.get(folder.number)
        up_to_date = known is not None and known.version == folder.version
        if node is None:
            folder.entries.pop(name, None)
        else:
            folder.entries[name] = node
        folder.changed(self._world.now)
        if self._server.cached:
            if known is not None and up_to_date:
                known.version = folder.version
            known = self._refresh(folder)
            self._names[folder.number, name] = (node, known.generation)

    def _lookup(self, folder: Node, name: str, *, asks: bool) -> Node | None:
        if not folder.is_folder:
            raise error(errno.ENOTDIR, name)
        if not self._server.cached:
            return folder.entries.get(name)
        known = self._folders.get(folder.number)
        if known is None or known.until <= self._world.now:
            known = self._refresh(folder)
        cached = self._names.get((folder.number, name))
        if cached is not None and cached[1] == known.generation and not asks:
            return cached[0]
        known = self._refresh(folder)
        found = folder.entries.get(name)
        self._names[folder.number, name] = (found, known.generation)
        return found

    def _walk(self, path: str, at: int | None = None, *, asks: bool = False) -> tuple[Node, str, Node | None]:
        """Return the parent, the last name, and what has the path; `asks` looks the last name up on the server."""
        node: Node | None = self._server.root if at is None else self._opened[at].node
        names = [name for name in path.split("/") if name]
        if not names:
            assert node is not None
            return node, ".", node
        parent = node
        for position, name in enumerate(names):
            if node is None:
                raise error(errno.ENOENT, path)
            parent = node
            node = self._lookup(parent, name, asks=asks and position == len(names) - 1)
        assert parent is not None
        return parent, names[-1], node

    def _find(self, path: str | int, at: int | None = None) -> Node:
        if isinstance(path, int):
            return self._opened[path].node
        node = self._walk(path, at)[2]
        if node is None:
            raise error(errno.ENOENT, path)
        return node

    # Attributes

    def stat(self, path: str | int, at: int | None = None) -> os.stat_result:
        """Return attributes, perhaps from the cache."""
        self._world.step(f"stat {path}")
        node = self._find(path, at)
        if isinstance(path, int) or not self._server.cached:
            return self._status(node)
        cached = self._attributes.get(node.number)
        if cached is not None and cached[1] > self._world.now:
            return cached[0]
        if not node.nlink:
            # The server does not know the file any more: the client looks the name up again.
            node = self._walk(path, at, asks=True)[2] or self._missing(path)
        return self._fetch(node)

    def _missing(self, path: object) -> Node:
        raise error(errno.ENOENT, path)

    def _fetch(self, node: Node) -> os.stat_result:
        found = self._status(node)
        self._attributes[node.number] = (found, self._world.now + FILE_SECONDS)
        return found

    def _status(self, node: Node) -> os.stat_result:
        uid, size = os.geteuid(), len(node.data)
        times = (int(node.mtime), int(node.mtime), int(node.ctime))
        return os.stat_result(
            (node.mode, node.number, 7, node.nlink, uid, uid, size, *times),
            {
                "st_mtime": node.mtime, "st_ctime": node.ctime, "st_mtime_ns": int(node.mtime * 1e9),
                "st_ctime_ns": int(node.ctime * 1e9), "st_blocks": 8,
            },
        )  # fmt: skip

    def utime(self, path: str | int, mtime: float | None, at: int | None = None) -> None:
        """Set the time of a file: the server's, or a given one."""
        self._world.step(f"utime {path} {'now' if mtime is None else mtime}")
        node = self._find(path, at)
        if not node.nlink:
            raise error(errno.ENOENT if not self._server.cached else errno.ESTALE, path)
        node.mtime = self._world.now if mtime is None else mtime
        node.ctime = self._world.now
        self._fetch(node)

    def chmod(self, path: str | int, mode: int, at: int | None = None) -> None:
        """Set the mode."""
        node = self._find(path, at)
        node.mode = stat.S_IFMT(node.mode) | mode

    # Folders

    def mkdir(self, path: str, mode: int, at: int | None = None) -> None:
        """Make a folder; of several clients, one does."""
        self._world.step(f"mkdir {path}")
        parent, name, found = self._walk(path, at, asks=True)
        if found is not None:
            raise error(errno.EEXIST, path)
        self._check_room(path)
        self._own_change(parent, name, self._server.new(stat.S_IFDIR | mode))

    def rmdir(self, path: str, at: int | None = None) -> None:
        """Remove an empty folder."""
        self._world.step(f"rmdir {path}")
        parent, name, found = self._walk(path, at, asks=True)
        if found is None:
            raise error(errno.ENOENT, path)
        if not found.is_folder:
            raise error(errno.ENOTDIR, path)
        if found.entries:
            raise error(errno.ENOTEMPTY, path)
        found.nlink = 0
        self._own_change(parent, name, None)

    def names(self, path: str | int) -> list[str]:
        """List a folder. Opening it asks the server."""
        self._world.step(f"list {path}")
        node = self._find(path)
        if not node.is_folder:
            raise error(errno.ENOTDIR, path)
        if not node.nlink:
            node = node if isinstance(path, int) else self._walk(path, asks=True)[2] or self._missing(path)
        self._refresh(node)
        return list(node.entries)

    def rename(self, old: str, new: str, old_at: int | None = None, new_at: int | None = None) -> None:
        """Give another name, in one step for all clients."""
        self._world.step(f"rename {old} {new}")
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
            found.nlink = 0 if found.is_folder else found.nlink - 1
        self._own_change(parent, name, None)
        self._own_change(to, new_name, node)

    def link(self, old: str, new: str) -> None:
        """Give a second name; of several clients, one does. The server's answer may be lost."""
        self._world.step(f"link {old} {new}")
        node = self._find(old)
        parent, name, found = self._walk(new, asks=True)
        if found is not None:
            raise error(errno.EEXIST, new)
        node.nlink += 1
        node.ctime = self._world.now
        self._own_change(parent, name, node)
        if self._server.cached and self._world.fault(1, 0.01):
            # The client asks once more, and the server finds the name.
            self._world.tell(f"the answer is lost: link {new}")
            raise error(errno.EEXIST, new)
        self._attributes.pop(node.number, None)

    def unlink(self, path: str, at: int | None = None) -> None:
        """Remove a name."""
        self._world.step(f"unlink {path}")
        parent, name, found = self._walk(path, at, asks=True)
        if found is None:
            raise error(errno.ENOENT, path)
        if found.is_folder:
            raise error(errno.EISDIR, path)
        found.nlink -= 1
        self._own_change(parent, name, None)

    # Files

    def open(self, path: str, flags: int, mode: int = 0o600, at: int | None = None) -> int:
        """Open a file or folder, and return its descriptor."""
        self._world.step(f"open {path}")
        create = bool(flags & os.O_CREAT)
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
        if node.is_folder:
            self._refresh(node)
        elif flags & os.O_DIRECTORY:
            raise error(errno.ENOTDIR, path)
        elif flags & os.O_TRUNC:
            node.data.clear()
        self._fetch(node)
        self._next += 1
        self._opened[self._next] = Opened(node, flags, bytes(node.data))
        return self._next

    def write(self, descriptor: int, data: bytes) -> int:
        """Write at the end of what is open: on the server at once, or on the client until `sync`."""
        opened = self._opened[descriptor]
        self._world.step(f"write {len(data)} bytes to {opened.node.number}: {data[:60]!r}")
        node, appends = opened.node, opened.flags & os.O_APPEND
        if not self._server.cached:
            if self._world.fault(1, 0.02):
                part = data[: self._world.choices.choose(len(data))]
                self._store(node, len(node.data) if appends else opened.offset, part)
                opened.offset += len(part)
                self._world.tell("the disk is full")
                if not part:
                    raise error(errno.ENOSPC, descriptor)
                return len(part)
            offset = len(node.data) if appends else opened.offset
            self._store(node, offset, data)
            opened.offset = offset + len(data)
            return len(data)
        start = len(node.data) if appends and not opened.pending else opened.offset
        opened.pending.append((start, data))
        opened.offset = start + len(data)
        return len(data)

    def _store(self, node: Node, offset: int, data: bytes) -> None:
        if len(node.data) < offset:
            node.data += bytes(offset - len(node.data))
        node.data[offset : offset + len(data)] = data
        node.mtime = node.ctime = self._world.now

    def sync(self, descriptor: int) -> None:
        """Send what is written to the server."""
        opened = self._opened[descriptor]
        self._world.step(f"sync {opened.node.number}")
        pending, opened.pending = opened.pending, []
        if not pending:
            return
        if not opened.node.nlink:
            raise error(errno.ESTALE, descriptor)
        if self._world.fault(2, 0.01):
            self._world.tell("the disk is full, or the server has an error")
            raise error(errno.ENOSPC if self._world.choices.choose(2) else errno.EIO, descriptor)
        for offset, data in pending:
            self._store(opened.node, offset, data)
        self._fetch(opened.node)

    def close(self, descriptor: int) -> None:
        """Close a file. What was written goes to the server."""
        try:
            if self._opened[descriptor].pending:
                self.sync(descriptor)
        finally:
            del self._opened[descriptor]

    def read(self, descriptor: int, count: int, offset: int) -> bytes:
        """Return bytes as they were at the last answer of the server."""
        node = self._opened[descriptor].node
        return bytes(node.data[offset : offset + count])

    def file(self, descriptor: int, mode: str) -> SimulatedFile:
        """Return a file object of a descriptor."""
        data = self._opened[descriptor].data if "r" in mode else b""
        return SimulatedFile(self, descriptor, data, binary="b" in mode)

    def _check_room(self, path: object) -> None:
        if self._world.fault(1, 0.005):
            self._world.tell(f"the disk is full: {path}")
            raise error(errno.ENOSPC, path)


class SimulatedFile(BytesIO):
    """A file object: reads what the file had when it was opened, and writes at the flush."""

    def __init__(self, client: Client, descriptor: int, data: bytes, *, binary: bool) -> None:
        super().__init__(data)
        self._client = client
        self._descriptor = descriptor
        self._binary = binary
        self._written: list[bytes] = []

    def fileno(self) -> int:
        return self._descriptor

    def write(self, data: str | Buffer) -> int:
        encoded = data.encode() if isinstance(data, str) else bytes(data)
        self._written.append(encoded)
        return len(encoded)

    def flush(self) -> None:
        written, self._written = b"".join(self._written), []
        while written:
            written = written[self._client.write(self._descriptor, written) :]

    def close(self) -> None:
        if not self.closed:
            try:
                self.flush()
            finally:
                super().close()
                self._client.close(self._descriptor)
