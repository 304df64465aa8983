"""The keys of hosts, as users compare them."""

from __future__ import annotations

import re
import subprocess
from base64 import b64decode, b64encode
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

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
