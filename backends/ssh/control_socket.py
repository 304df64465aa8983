"""Where the socket of a shared connection is: named by user, host and port, in a folder that is the user's alone."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from paislurm.translator.errors import Diagnostic, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "/tmp/paislurm-{}"  # noqa: S108 - looked at before it is used
LONGEST = 87
"""Bytes of a path that leave room for the 17 that ssh adds while it makes the socket. Source: unix(7), sun_path."""


def socket_path(settings: Mapping[str, str], host: str) -> str:
    """Return the path for a host, of which `settings` are what `ssh -G` prints.

    Not below the home, which other machines may share, nor in $XDG_RUNTIME_DIR, which cron has not.
    """
    folder = _own_folder()
    name = f"{settings.get('user', '')}@{settings.get('hostname', host)}:{settings.get('port', '22')}"
    path = f"{folder}/{name}"
    return path if len(path) <= LONGEST else f"{folder}/{sha256(name.encode()).hexdigest()[:40]}"


def _own_folder() -> Path:
    """Return the folder; UnreachableError where there is none that is the user's alone.

    Anybody can take the name in /tmp first: then it is one of the home, of this machine.
    """
    folders = (Path(FOLDER.format(os.getuid())), Path.home() / ".ssh" / f"paislurm-{os.uname().nodename}")
    faults = [fault for folder in folders if (fault := _fault(folder))]
    if len(faults) == len(folders):
        hint = f"remove what is in the way, or chmod 700 {folders[-1]}"
        raise UnreachableError(Diagnostic(code="E550", message="; ".join(faults), hint=hint))
    return folders[len(faults)]


def _fault(folder: Path) -> str:
    """Make a folder unless it exists; return why it cannot hold sockets, "" if it can."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        return f"cannot make {folder}: {error.strerror}"
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        return f"{folder} is not yours alone: whoever can write there could take over your connections"
    return ""
