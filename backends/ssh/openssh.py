"""What OpenSSH's programs need here: no key on trust, and a folder of the user's own for shared connections."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from base64 import b64decode, b64encode
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from paislurm.translator.errors import Diagnostic, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "/tmp/paislurm-{}"  # noqa: S108 - looked at before it is used
LONGEST = 87
"""Bytes of a path that leave room for the 17 that ssh adds while it makes the socket. Source: unix(7), sun_path."""
SCAN_SECONDS = 10.0
CONFIG = Path(__file__).with_name("ssh_config")
_PLAIN = re.compile(r"[A-Za-z0-9/._+@=-]+")


def no_new_keys() -> list[str]:
    """Return the options by which ssh takes no key on trust and learns none, of hosts on the way neither.

    ssh has a shell read the name of the file, without quotes, where it starts another one for a ProxyJump.
    """
    return ["-F", str(CONFIG)] if _PLAIN.fullmatch(str(CONFIG)) else []


def fingerprint(line: str) -> str:
    """Return the fingerprint of a line of known_hosts, `ssh-ed25519 SHA256:...`. Source: ssh-keygen(1), -l."""
    kind, key = line.split()[1:3]
    digest = b64encode(sha256(b64decode(key)).digest()).decode().rstrip("=")
    return f"{kind} SHA256:{digest}"


def scanned_key(settings: Mapping[str, str], host: str) -> tuple[str, str]:
    """Return the line for known_hosts of the key that a host shows, and its fingerprint; "" where it shows none.

    Nothing is taken on trust: the line is for a person to compare. `settings` are what `ssh -G` prints. A host behind
    another one cannot be asked.
    """
    if any(settings.get(name, "none") != "none" for name in ("proxyjump", "proxycommand")):
        return "", ""
    argv = ["ssh-keyscan", "-T", "5", "-p", settings.get("port", "22"), settings.get("hostname", host)]
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(argv, capture_output=True, text=True, timeout=SCAN_SECONDS, check=False)
        lines = [line for line in done.stdout.splitlines() if line and line[0] != "#"]
        best = next((line for line in lines if " ssh-ed25519 " in line), lines[0] if lines else "")
        if best:
            return best, fingerprint(best)
    return "", ""


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
