"""Detect changes of job folders, and measure the monitor's remaining CPU time.

Each job costs one stat and little CPU time, no poll. A claim or a result appears in an attempt's folder and changes
its modification time. inotify does not report changes by other machines on a network file system. There, a change is
visible when the attribute cache of the folder expires (nfs(5), acdirmax). Some file systems cache separately that a
name was missing: then the folder's time and list show the name before it can be opened.

The limit on CPU time (`ulimit -t`) applies per process: a new process starts at zero, exec does not reset it.
"""

from __future__ import annotations

import os
import resource
import signal
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SIGNS = ("claim", "result.json")
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


PART = 0.75
"""The usable share of the CPU time limit; the rest is for a step with many jobs, which is not interrupted."""


def is_nearly_spent() -> bool:
    """Return whether this process has used most of its CPU time."""
    soft, _ = resource.getrlimit(resource.RLIMIT_CPU)
    return soft != resource.RLIM_INFINITY and used() >= PART * soft


def used() -> float:
    """Return the CPU seconds of this process, without those of its children."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


def outlive_warning() -> None:
    """Survive SIGXCPU, which arrives at the soft limit and would terminate the process.

    Use a handler: child processes would inherit an ignored signal.
    """
    signal.signal(signal.SIGXCPU, lambda _, __: None)
