"""What a test may need of the machine beyond Python and bash: tried there, never concluded from who the user is."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def works(*argv: str) -> bool:
    """Return whether a command exists here and succeeds."""
    try:
        return subprocess.run(argv, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@functools.cache
def starts_in_c() -> bool:
    """Return whether Python starts with LC_ALL=C: before 3.13 not with this package, if its path is not ASCII."""
    return works("env", "LC_ALL=C", sys.executable, "-c", "")


def runs_programs(folder: str) -> bool:
    """Return whether a program can be made in a folder and run: a file system may forbid it (noexec)."""
    try:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            program = Path(name, "program")
            program.write_text("#!/bin/sh\n")
            program.chmod(0o700)
            return works(str(program))
    except OSError:
        return False


@functools.cache
def other_users() -> bool:
    """Return whether programs may be started as other users, which root of a user namespace may not."""
    return os.geteuid() == 0 and works("setpriv", "--reuid=21001", "--regid=21000", "--clear-groups", "true")


@functools.cache
def unshare(kind: str) -> list[str]:
    """Return the words that give a command a namespace of its own, of the kind `--net` or `--mount`; none if forbidden.

    Root needs CAP_SYS_ADMIN for it. Anybody can be root of a user namespace, unless the machine forbids these.
    """
    trial = ("mount", "-t", "tmpfs", "none", "/tmp") if kind == "--mount" else ("true",)
    ways = (["unshare", kind], ["unshare", "--user", "--map-root-user", kind])
    return next((words for words in ways if works(*words, *trial)), [])
