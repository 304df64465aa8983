"""Whether another user can replace a path, or change a file: asked before anything is run, or read as settings."""

from __future__ import annotations

import os
import pwd
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

OTHERS_WRITE = 0o022
MAX_LINKS = 40
"""The most links in a path. Source: path_resolution(7)."""
TRUSTED = 0
"""Trusted owners; root can do everything anyway."""


def owner_name(uid: int) -> str:
    """Return the name of a user, or `user UID`."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return f"user {uid}"


def replaceable(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Yield why others could replace a path, for each unsafe folder or link on it.

    The second text is the folder for `chmod go-w`, "" if that is not the caller's to mend.
    """
    for path, status in _way(paths):
        if status.st_uid not in (os.geteuid(), TRUSTED):
            yield f"{path} belongs to {owner_name(status.st_uid)}", ""
        elif stat.S_ISDIR(status.st_mode) and status.st_mode & OTHERS_WRITE and not status.st_mode & stat.S_ISVTX:
            mend = path if status.st_uid == os.geteuid() else ""
            yield f"others can write to {path} (mode {stat.S_IMODE(status.st_mode):04o})", mend


def writable_by_others(file: Path) -> str:
    """Return why another user can change a file; "" if only the caller and root can."""
    status = file.stat()
    if status.st_uid not in (os.geteuid(), TRUSTED):
        return f"it belongs to {owner_name(status.st_uid)}"
    if status.st_mode & OTHERS_WRITE:
        return f"others can write to it (mode {stat.S_IMODE(status.st_mode):04o})"
    return next((why for why, _ in replaceable((file,))), "")


def _way(paths: Iterable[Path]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the existing folders and links on some paths."""
    seen: set[str] = set()
    for path in paths:
        rest, at, links = list(reversed(path.parts[1:])), "", 0
        while rest:
            if at not in seen:
                seen.add(at)
                yield at or "/", os.lstat(at or "/")
            part = rest.pop()
            if part == "..":
                at = at.rpartition("/")[0]
                continue
            inner = f"{at}/{part}"
            try:
                status = os.lstat(inner)
            except OSError:
                break
            if stat.S_ISLNK(status.st_mode) and links < MAX_LINKS:
                yield inner, status
                links += 1
                target = os.readlink(inner)  # noqa: PTH115 - every command walks here, often
                rest += reversed([word for word in target.split("/") if word not in ("", ".")])
                at = "" if target.startswith("/") else at
            else:
                at = inner


def is_private(paths: Iterable[Path]) -> bool:
    """Return whether the caller owns all paths and nobody else can write to them."""
    try:
        found = [path.stat() for path in paths]
    except OSError:
        return False
    return all(status.st_uid == os.geteuid() and not status.st_mode & OTHERS_WRITE for status in found)
