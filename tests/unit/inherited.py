"""A default ACL, by which what is made in a folder can be written to by another user, whatever the umask."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest

_VERSION, _NOBODY = 2, 0xFFFFFFFF
_OWNER, _USER, _GROUP, _MASK, _OTHERS = 0x01, 0x02, 0x04, 0x10, 0x20


def inherit(folder: Path, user: int) -> None:
    """Let a user read and write all that is made in a folder. Source: acl(5); Linux, posix_acl_xattr.h."""
    rows = ((_OWNER, 7, _NOBODY), (_USER, 7, user), (_GROUP, 7, _NOBODY), (_MASK, 7, _NOBODY), (_OTHERS, 0, _NOBODY))
    value = struct.pack("<I", _VERSION) + b"".join(struct.pack("<HHI", *row) for row in rows)
    try:
        os.setxattr(folder, "system.posix_acl_default", value)
    except OSError as error:
        pytest.skip(f"the file system of {folder} has no access control lists: {error.strerror}")


def open_to(user: int, group: int, folder: Path) -> list[str]:
    """Return what a user can write to, or read, in and below a folder."""
    identity = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"]
    argv = [*identity, "find", str(folder), "(", "-writable", "-o", "-readable", ")", "-not", "-type", "l"]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.splitlines()
