"""Know which logs the tasks of a role have: one look at their folder tells of all of them."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SETTLED = 2.0
"""Seconds after which a folder's time tells of the next file: two files can come within one tick of a clock."""
LONGEST = 10.0
"""Seconds after which a folder is listed again whatever its time says: another machine's changes can show late."""
NONE: frozenset[tuple[str, int]] = frozenset()
_NAME = re.compile(r"([0-9]{1,9})\.(stdout|stderr|runtime)(?:\.([0-9]{1,9}))?\.log")


class LogFolder:
    """The folder of what the tasks of a role print: it is listed when it has changed, once for all tasks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._changed = -1
        self._next = 0.0
        self._files: Mapping[int, frozenset[tuple[str, int]]] = {}
        self.look()

    def files(self, index: int) -> frozenset[tuple[str, int]]:
        """Return the logs of a task, each as stream and task attempt, as of the last look."""
        return self._files.get(index, NONE)

    def look(self, *, afresh: bool = False) -> list[int]:
        """Return the tasks that have other logs than at the last look; `afresh` trusts no time of the folder."""
        now = time.monotonic()
        try:
            changed = self.path.stat().st_mtime_ns
            if changed == self._changed and now < self._next and not afresh:
                return []
            settled = time.time() - changed / 1e9 > SETTLED
            before, files = self._files, _listed(self.path)
        except OSError:
            return []
        self._changed = changed if settled else -1
        self._next = now + LONGEST
        # What has not changed stays the same object: that is how tasks know.
        self._files = {index: before[index] if before.get(index) == found else found for index, found in files.items()}
        return [index for index, found in self._files.items() if found is not before.get(index)]


def _listed(folder: Path) -> Mapping[int, frozenset[tuple[str, int]]]:
    found: dict[int, list[tuple[str, int]]] = {}
    for name in os.listdir(folder):  # noqa: PTH208 - thousands of names
        if match := _NAME.fullmatch(name):
            found.setdefault(int(match[1]), []).append((match[2], int(match[3] or 0)))
    return {index: frozenset(files) for index, files in found.items()}
