"""What a monitor notices by itself: that something happens to jobs, and how near it is to the end of its CPU time.

Jobs take one stat each: no question to any backend, and hardly any CPU time. A claim and a result are names that come
into the folder of an attempt, whose time of change is that of the newest. No inotify: on a network file system it sees
nothing of what other machines do. There, a change is seen when the attribute cache lets go of the folder's times
(nfs(5), acdirmax). Some file systems remember on an account of its own that a name was missing: then the folder's times
are new, and its list has the name, before anybody can open it.

CPU time (`ulimit -t`): a new process has all of it, exec makes none.
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
"""The names in the folder of an attempt that say that it has begun, and that it has ended."""
Stamp: TypeAlias = "tuple[int, int, int] | None"


class FolderWatch:
    """Look at files or folders by name: `keep` says which, `changed` which of them are not as they were."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}
        self._stamps: dict[str, Stamp] = {}
        self._unsure: set[str] = set()

    def keep(self, paths: Iterable[tuple[str, Path]]) -> None:
        """Watch these and no others. One that is new, or has another path, counts as changed."""
        before, self._paths = self._paths, {name: str(path) for name, path in paths}
        same = {name for name, path in self._paths.items() if before.get(name) == path}
        self._stamps = {name: self._stamps[name] if name in same else None for name in self._paths}
        self._unsure = (self._unsure & same) | (self._paths.keys() - same)

    def changed(self) -> set[str]:
        """Return the names of those that have changed since the last call.

        Each is returned once more by the next one: of two changes within one tick of the clock the time of the folder
        shows one alone. One that hides a sign is returned until it does not; it is looked at before its files are read.
        """
        news: set[str] = set()
        stamps = self._stamps
        for name, path in self._paths.items():
            try:
                status = os.stat(path)  # noqa: PTH116 - a pathlib.Path costs as much again, each second for each job
                stamp = (status.st_mtime_ns, status.st_ino, status.st_nlink)
            except OSError:
                stamp = None
            if stamps[name] != stamp:
                stamps[name] = stamp
                news.add(name)
        found = news | self._unsure
        self._unsure = news | {name for name in found if hides(self._paths[name])}
        return found


def hides(folder: str) -> bool:
    """Tell whether a folder's list has a sign that cannot be opened yet. A folder that cannot be listed hides none."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names are what is wanted
    except OSError:
        return False
    return any(name in SIGNS and not os.path.lexists(f"{folder}/{name}") for name in names)


PART = 0.75
"""Of the CPU time that is allowed: the rest is for a step with many jobs, which is not interrupted."""


def is_nearly_spent() -> bool:
    """Tell whether this process has used most of the CPU time that it may use."""
    soft, _ = resource.getrlimit(resource.RLIMIT_CPU)
    return soft != resource.RLIM_INFINITY and used() >= PART * soft


def used() -> float:
    """Return the CPU seconds of this process, without those of its children."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


def outlive_warning() -> None:
    """Go on after SIGXCPU, which comes at the soft limit and would end the process before the hard one does.

    It is not ignored: then programs that are started would ignore it, too.
    """
    signal.signal(signal.SIGXCPU, lambda _, __: None)
