"""What a client of a file server knows: names and attributes, with the caches of NFS.

Without `cached` every client sees the server, as processes of one machine do. With it, a client trusts attributes of a
file for 3 s and of a folder for 30 s, among them names that did not exist.
Source: nfs(5), data and metadata coherence, acregmin and acdirmin.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from .nodes import Node, Opened, error

if TYPE_CHECKING:
    from .nodes import Status
    from .world import World

FILE_SECONDS, FOLDER_SECONDS = 3.0, 30.0
_UNKNOWN = Node(0, 0, 0.0)
_MAX_SPLIT = 20_000
_split: dict[str, tuple[str, ...]] = {}
"""The names in each path, because most paths come up in many histories."""


def names_in(path: str) -> tuple[str, ...]:
    """Return the names in a path."""
    names = _split.get(path)
    if names is None:
        if len(_split) >= _MAX_SPLIT:
            _split.clear()
        names = _split[path] = tuple(name for name in path.split("/") if name)
    return names


class _Known:
    """What a client knows of a folder: names, the version that it saw, and until when it trusts these."""

    __slots__ = ("names", "until", "version")

    def __init__(self, version: int) -> None:
        self.version = version
        self.until = 0.0
        self.names: dict[str, Node | None] = {}


class Knowledge:
    """The caches of one host, and its open files."""

    def __init__(self, world: World, root: Node, *, cached: bool) -> None:
        self._world = world
        self._root = root
        self._cached = cached
        self._folders: dict[Node, _Known] = {}
        self._attributes: dict[Node, tuple[Status, float]] = {}
        self._opened: dict[int, Opened] = {}
        self._unsent: dict[Node, Opened] = {}
        """The files with written data that the server does not have: another process of the host sees these, too."""

    def _refresh(self, folder: Node) -> _Known:
        """Ask the server for a folder's attributes."""
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = _Known(folder.version)
        elif known.version != folder.version:
            known.version = folder.version
            known.names = {}
        known.until = self._world.now + FOLDER_SECONDS
        return known

    def _own_change(self, folder: Node, name: str, node: Node | None) -> None:
        """Change a name on the server. The client keeps what it knows of others, unless these changed meanwhile."""
        known = self._folders.get(folder) if self._cached else None
        up_to_date = known is not None and known.version == folder.version
        if node is None:
            folder.entries.pop(name, None)
        else:
            folder.entries[name] = node
        folder.version += 1
        folder.changed(mtime=self._world.now, ctime=self._world.now)
        if self._cached:
            if known is not None and up_to_date:
                known.version = folder.version
            self._refresh(folder).names[name] = node

    def _walk(self, path: str, at: int | None = None, *, asks: bool = False) -> tuple[Node, str, Node | None]:
        """Return the parent, the last name, and what has the path; `asks` looks the last name up on the server."""
        names = _split.get(path) or names_in(path)
        parent = self._root if at is None else self._opened[at].node
        name = "."
        found: Node | None = parent
        if not self._cached:
            for name in names:
                if found is None or not found.is_folder:
                    raise error(errno.ENOENT if found is None else errno.ENOTDIR, path)
                parent = found
                found = parent.entries.get(name)
            return parent, name, found
        folders, now = self._folders, self._world.now
        for name in names:
            if found is None:
                raise error(errno.ENOENT, path)
            parent = found
            known = folders.get(parent)
            if known is None or known.until <= now:
                if not parent.is_folder:
                    raise error(errno.ENOTDIR, path)
                known = self._refresh(parent)
            found = known.names.get(name, _UNKNOWN)
            if found is _UNKNOWN:
                known = self._refresh(parent)
                found = known.names[name] = parent.entries.get(name)
        if asks and names:
            found = self._refresh(parent).names[name] = parent.entries.get(name)
        return parent, name, found

    def _find(self, path: str | int, at: int | None = None, *, asks: bool = False) -> Node:
        if isinstance(path, int):
            return self._opened[path].node
        node = self._walk(path, at, asks=asks)[2]
        if node is None:
            raise error(errno.ENOENT, path)
        return node

    def _fetch(self, node: Node) -> Status:
        """Ask the server for a file's attributes."""
        status = node.known_status or node.status()
        if self._cached:
            self._attributes[node] = (status, self._world.now + FILE_SECONDS)
        return status

    def _send(self, node: Node) -> None:
        """Send written data of a file to the server."""
        opened = self._unsent.pop(node)
        for offset, data in opened.pending:
            node.store(offset, data, self._world.now)
        opened.pending.clear()
        self._fetch(node)

    def _drop(self, opened: Opened) -> None:
        """Lose what is written and not sent: by an error, or by the end of the machine."""
        if opened.pending:
            opened.pending.clear()
            self._unsent.pop(opened.node, None)
