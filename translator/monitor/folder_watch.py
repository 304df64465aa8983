"""Watch folders for changes, by one stat each."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from ..files.names import CLAIM, RESULT

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SIGNS = (CLAIM, RESULT)
"""The names in an attempt's folder that show its start and its end."""
Stamp: TypeAlias = "tuple[int, int, int] | None"


class FolderWatch:
    """Watch files or folders by name: `keep` selects them, `changed` returns those that changed."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}
        self._stamps: dict[str, Stamp] = {}
        self._unsure: set[str] = set()

    def keep(self, paths: Iterable[tuple[str, Path]]) -> None:
        """Watch only these paths. New names, and names with a new path, count as changed."""
        before, self._paths = self._paths, {name: str(path) for name, path in paths}
        same = {name for name, path in self._paths.items() if before.get(name) == path}
        self._stamps = {name: self._stamps[name] if name in same else None for name in self._paths}
        self._unsure = (self._unsure & same) | (self._paths.keys() - same)

    def changed(self) -> set[str]:
        """Return the names that have changed since the last call.

        Each name is returned again by the next call: two changes within one clock tick show only once in the
        folder's time. A folder that hides a sign is returned until the sign can be opened. Check this before reading
        its files.
        """
        changed: set[str] = set()
        stamps = self._stamps
        for name, path in self._paths.items():
            try:
                status = os.stat(path)  # noqa: PTH116 - pathlib doubles the cost, each second for each job
                stamp = (status.st_mtime_ns, status.st_ino, status.st_nlink)
            except OSError:
                stamp = None
            if stamps[name] != stamp:
                stamps[name] = stamp
                changed.add(name)
        found = changed | self._unsure
        self._unsure = changed | {name for name in found if hides(self._paths[name])}
        return found


def hides(folder: str) -> bool:
    """Return whether a folder lists a sign that cannot be opened yet; False if it cannot be listed."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - only names are needed
    except OSError:
        return False
    return any(name in SIGNS and not os.path.lexists(f"{folder}/{name}") for name in names)
