"""What a file server keeps: files and folders. And what processes have of them: attributes and file objects."""

from __future__ import annotations

import os
import stat
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

    from .files import Client
    from .world import Process, World

_UID = os.geteuid()
_text = cache(os.strerror)


def error(number: int, path: object) -> OSError:
    """Return the error that the system would raise."""
    return OSError(number, _text(number), str(path))


class Status:
    """The attributes of a file, by the names of os.stat_result."""

    __slots__ = (
        "st_ctime", "st_ctime_ns", "st_gid", "st_ino", "st_mode", "st_mtime", "st_mtime_ns", "st_nlink", "st_size",
        "st_uid",
    )  # fmt: skip
    st_dev = 7
    st_blocks = 8

    def __init__(self, node: Node) -> None:
        self.st_mode = node.mode
        self.st_ino = node.number
        self.st_nlink = node.nlink
        self.st_size = len(node.data)
        self.st_uid = self.st_gid = _UID
        self.st_mtime = node.mtime
        self.st_ctime = node.ctime
        self.st_mtime_ns = int(node.mtime * 1e9)
        self.st_ctime_ns = int(node.ctime * 1e9)


class Node:
    """A file or a folder on the server. `version` counts the changes of a folder."""

    __slots__ = (
        "ctime", "data", "entries", "is_folder", "known_status", "locked", "mode", "mtime", "nlink", "number",
        "version",
    )  # fmt: skip

    def __init__(self, number: int, mode: int, now: float) -> None:
        self.number = number
        self.mode = mode
        self.is_folder = stat.S_ISDIR(mode)
        self.data = b""
        self.entries: dict[str, Node] = {}
        self.mtime = self.ctime = now
        self.nlink = 1
        self.version = 0
        self.known_status: Status | None = None
        self.locked: Opened | None = None

    def status(self) -> Status:
        """Return its attributes now."""
        if self.known_status is None:
            self.known_status = Status(self)
        return self.known_status

    def changed(self, *, mtime: float | None = None, ctime: float | None = None, links: int = 0) -> None:
        """Note new times, and names that it got or lost."""
        self.mtime = self.mtime if mtime is None else mtime
        self.ctime = self.ctime if ctime is None else ctime
        self.nlink += links
        self.known_status = None

    def below(self, prefix: str = "") -> Iterator[tuple[str, Node]]:
        """Yield the paths of all files and folders below a folder, and these."""
        for name, node in self.entries.items():
            yield prefix + name, node
            yield from node.below(f"{prefix}{name}/")

    def store(self, offset: int, data: bytes, now: float) -> None:
        """Write data."""
        old = self.data
        self.data = old[:offset].ljust(offset, b"\0") + data + old[offset + len(data) :]
        self.changed(mtime=now, ctime=now)


class Disk:
    """All folders and files."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._last = 1
        self.root = self.new(stat.S_IFDIR | 0o755)

    def new(self, mode: int) -> Node:
        """Return a new file or folder without a name."""
        self._last += 1
        return Node(self._last, mode, self.world.now)

    def find(self, path: str) -> Node | None:
        """Return what has a path on the server now."""
        node: Node | None = self.root
        for name in path.strip("/").split("/"):
            node = node.entries.get(name) if node is not None else None
        return node


class Opened:
    """An open file: `data` as they were when it was opened. `pending` are written bytes that the server lacks.

    `process` is that which locked it.
    """

    __slots__ = ("data", "flags", "node", "offset", "pending", "process")

    def __init__(self, node: Node, flags: int) -> None:
        self.node = node
        self.flags = flags
        self.data = node.data
        self.offset = 0
        self.pending: list[tuple[int, bytes]] = []
        self.process: Process | None = None


class _File(BytesIO):
    """A file object with a descriptor of a client."""

    def __init__(self, client: Client, descriptor: int, data: bytes = b"") -> None:
        super().__init__(data)
        self._client = client
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor


class ReadFile(_File):
    """A file object that reads what the file had when it was opened."""

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._client.close(self._descriptor)


class WrittenFile(_File):
    """A file object that writes at the flush."""

    def __init__(self, client: Client, descriptor: int) -> None:
        super().__init__(client, descriptor)
        self._written = b""

    def write(self, data: str | Buffer) -> int:
        encoded = data.encode() if isinstance(data, str) else bytes(data)
        self._written += encoded
        return len(encoded)

    def flush(self) -> None:
        written, self._written = self._written, b""
        while written:
            written = written[self._client.write(self._descriptor, written) :]

    def close(self) -> None:
        if not self.closed:
            try:
                self.flush()
            finally:
                super().close()
                self._client.close(self._descriptor)
