"""Options and files for OpenSSH's programs: strict host keys, and a private folder for shared connections."""

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
from paislurm.translator.files.private import make_private

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "/tmp/paislurm-{}"  # noqa: S108 - checked before use
LONGEST = 87
"""Limit in bytes for a socket's path; ssh adds 17 while it makes the socket. Source: unix(7), sun_path."""
SCAN_SECONDS = 10.0
CONFIG = Path(__file__).with_name("ssh_config")
_PLAIN = re.compile(r"[A-Za-z0-9/._+@=-]+")


def no_new_keys() -> list[str]:
    """Return the options that make ssh reject unknown host keys, also those of jump hosts.

    For a ProxyJump, ssh passes the file name unquoted to a shell, so the name must be plain.
    """
    return ["-F", str(CONFIG)] if _PLAIN.fullmatch(str(CONFIG)) else []


def fingerprint(line: str) -> str:
    """Return the fingerprint of a known_hosts line: `ssh-ed25519 SHA256:...`. Source: ssh-keygen(1), -l."""
    kind, key = line.split()[1:3]
    digest = b64encode(sha256(b64decode(key)).digest()).decode().rstrip("=")
    return f"{kind} SHA256:{digest}"


def scanned_key(settings: Mapping[str, str], host: str) -> tuple[str, str]:
    """Return a host's key as a known_hosts line, and its fingerprint; "" if it shows none.

    The key is not trusted: a person must compare the line. `settings` is the output of `ssh -G`. A host behind a
    jump host cannot be scanned.
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
    """Return the path of the shared connection's socket; `settings` is the output of `ssh -G`.

    It is not below the home, which machines may share, nor in $XDG_RUNTIME_DIR, which cron does not set.
    """
    folder = _own_folder()
    name = f"{settings.get('user', '')}@{settings.get('hostname', host)}:{settings.get('port', '22')}"
    path = f"{folder}/{name}"
    return path if len(path) <= LONGEST else f"{folder}/{sha256(name.encode()).hexdigest()[:40]}"


def _own_folder() -> Path:
    """Return a private folder for sockets. Raises UnreachableError if none is possible.

    Another user can take the name in /tmp first; then use a folder in the home, with this machine's name.
    """
    folders = (Path(FOLDER.format(os.getuid())), Path.home() / ".ssh" / f"paislurm-{os.uname().nodename}")
    faults = [fault for folder in folders if (fault := _fault(folder))]
    if len(faults) == len(folders):
        hint = f"remove the file in the way, or run `chmod 700 {folders[-1]}`"
        raise UnreachableError(Diagnostic(code="E550", message="; ".join(faults), hint=hint))
    return folders[len(faults)]


def _fault(folder: Path) -> str:
    """Make a folder unless it exists. Return the reason why it cannot hold sockets, "" if it can."""
    try:
        make_private(folder)
        status = folder.lstat()
    except OSError as error:
        return f"cannot make {folder}: {error.strerror}"
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        return f"{folder} is accessible to other users, who could take over your connections"
    return ""
