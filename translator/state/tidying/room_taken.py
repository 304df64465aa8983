"""How much room folders take: one pass over what is in them, without following a symbolic link."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

BLOCK = 512
"""Bytes that `st_blocks` counts. Source: stat(2)."""


class RoomTaken(NamedTuple):
    """Hold bytes on the disk and inodes."""

    size: int = 0
    inodes: int = 0

    def plus(self, other: RoomTaken) -> RoomTaken:
        """Return both together."""
        return RoomTaken(self.size + other.size, self.inodes + other.inodes)


def room_taken(folder: str) -> RoomTaken:
    """Return what a folder takes, itself and all below it; what cannot be looked at counts nothing."""
    size = inodes = 0
    left = [folder]
    with suppress(OSError):
        size, inodes = os.stat(folder, follow_symlinks=False).st_blocks * BLOCK, 1  # noqa: PTH116 - thousands
    while left:
        with suppress(OSError), os.scandir(left.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_blocks * BLOCK
                    inodes += 1
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
    return RoomTaken(size, inodes)
