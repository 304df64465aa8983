"""The environment and umask of a job's submit, kept for its retries: the monitor that submits them has others.

They are private files in the job's folder. The environment has the format of proc(5), environ, and is removed when the
job ends. The script of each attempt reads the umask, and sets it just before the user's code.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from ..files.names import ENVIRONMENT
from ..files.reading import read_end

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .journal_records import RetryPolicy

UMASK = "umask"
"""The name of the file with the umask, as the builtin of bash prints it: `0022`."""
MAX_BYTES = 16 << 20
"""More than any environment. Source: execve(2), limits on size of arguments and environment."""


_UMASK_LOCK = threading.Lock()


def current_umask() -> int:
    """Return the umask of this process. Only a change of the umask returns it, so threads take turns."""
    with _UMASK_LOCK:
        mask = os.umask(0o077)
        os.umask(mask)
    return mask


def is_kept(policy: RetryPolicy, first_tag: str) -> bool:
    """Return whether a job that is submitted from here keeps its environment: a monitor may submit an attempt of it."""
    return bool(policy.retry_limit or policy.max_transient_retries or first_tag)


def as_bytes(environment: Mapping[str, str]) -> bytes:
    """Return the content of the file: `NAME=VALUE`, each terminated by NUL."""
    return b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in environment.items())


def kept_environment(folder: Path) -> dict[str, str] | None:
    """Return the environment kept in a job's folder, None if it is missing or damaged. Raises OSError."""
    try:
        data, whole = read_end(folder / ENVIRONMENT, MAX_BYTES)
    except FileNotFoundError:
        return None
    if not whole or not data.endswith(b"\0"):
        return None
    pairs = (os.fsdecode(line).partition("=") for line in data[:-1].split(b"\0"))
    return {name: value for name, equals, value in pairs if name and equals}
