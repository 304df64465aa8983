"""Parse stall.json, the script's report on a stall. The user's own processes can write it too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from .safe_read import CorruptDataError, Int, read_end, read_version

if TYPE_CHECKING:
    from pathlib import Path

_MAX_BYTES = 1 << 20
_VERSION = 1


class Stall(Struct, frozen=True, kw_only=True):
    """A stall that the script has found."""

    found_at: Int
    """When the script found it, in seconds since 1970."""
    moved_at: Int | None
    """When a task moved again, None if none did."""
    tasks: tuple[str, ...]
    """The tasks that the others wait for, `worker-0`; none if nothing tells."""
    reason: str
    """How long no task has moved, and why, in a sentence."""


def read_stall(path: Path) -> Stall | None:
    """Return the stall, None if there is none, if a task moves again, or if the file cannot be read."""
    try:
        found = read_version(read_end(path, _MAX_BYTES)[0], Stall, _VERSION)
    except (OSError, CorruptDataError):
        return None
    return found if found.moved_at is None else None
