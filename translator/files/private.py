"""Make folders and write files that only the user can access, whatever the umask and default ACL."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def make_private(folder: Path, mode: int = 0o700) -> None:
    """Make a folder with its missing parents, each with this mode, whatever the umask permits; keep an existing one.

    Its default ACL goes: the umask of the script would not apply to what it writes below. Source: acl(5).
    """
    if not folder.parent.exists():
        make_private(folder.parent, mode)
    folder.mkdir(mode=mode, exist_ok=True)
    if hasattr(os, "removexattr"):
        with suppress(OSError):
            os.removexattr(folder, "system.posix_acl_default")


def write_durably(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file atomically and sync it to disk. A link of that name is replaced, not followed."""
    new = path.with_name(f".{path.name}.new-{os.urandom(4).hex()}")
    try:
        write_new(new, data, mode)
        new.replace(path)
        sync_folder(path.parent)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def write_new(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a new file and sync it to disk; it has its mode once it has its content."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if mode != 0o600:
            os.fchmod(descriptor, mode)
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk, if the file system supports it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def private(path: str, flags: int) -> int:
    """Open a file, as an `opener` for `open`; only the user can access a new file, whatever the umask."""
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def write_text(path: Path, text: str) -> None:
    """Write a file that only the user can access."""
    with open(path, "w", encoding="utf-8", opener=private) as file:
        file.write(text)
