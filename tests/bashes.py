"""Builds of bash for the tests: the machine's own, and those of Debian's releases with their C libraries."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

SUITES = {"5.1": "bullseye", "5.2.15": "bookworm", "5.2.37": "trixie", "5.3": "sid"}
"""The release of Debian that has a version of bash."""
OLDER = "bash 4.4 and 4.2 were in Debian 9 and older, of which the mirrors keep no package and no source"
VERSIONS = ("4.2", "4.4", *SUITES)
CACHE = Path("/var/cache/paislurm-tests")
"""Shared by all checkouts of a machine."""
OPTIONS = (
    "--quiet",
    "--variant=extract",
    "--include=bash,libc6,libtinfo6",
    # An old release is signed for a time that may be over.
    '--aptopt=Acquire::Check-Valid-Until "false"',
)


class NoBashError(Exception):
    """Say why a version of bash is not to be had here."""


def find(version: str) -> list[str]:
    """Return the words that start a bash of this version, fetched if need be: a few seconds, once a machine."""
    own = shutil.which("bash", path="/usr/bin:/bin")
    if own and _is(version, [own]):
        return [own]
    if version not in SUITES:
        raise NoBashError(OLDER)
    tree = _tree(SUITES[version])
    libraries = [path for path in tree.glob("*lib/*-linux-gnu") if path.is_dir()]
    libraries += [path for path in tree.glob("usr/lib/*-linux-gnu") if path.is_dir()]
    loaders = [path for folder in libraries for path in folder.glob("ld-linux*.so.*")]
    if not loaders:
        raise NoBashError(f"{tree} has no loader of programs")
    words = [str(loaders[0]), "--library-path", ":".join(map(str, libraries)), str(tree / "bin/bash")]
    if not _is(version, words):
        raise NoBashError(f"Debian's {SUITES[version]} has another version of bash by now")
    return words


def _is(version: str, words: list[str]) -> bool:
    code = 'echo "${BASH_VERSINFO[0]}.${BASH_VERSINFO[1]}.${BASH_VERSINFO[2]}."'
    said = subprocess.run([*words, "-c", code], capture_output=True, text=True, check=False, timeout=30).stdout
    return said.startswith(f"{version}.")


def _tree(suite: str) -> Path:
    """Return a folder with the bash of a release; the first process to come makes it."""
    tree = CACHE / f"bash-{suite}"
    if tree.exists():
        return tree
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        raise NoBashError(f"the bash of Debian's {suite} needs root and mmdebstrap to be fetched")
    CACHE.mkdir(mode=0o755, parents=True, exist_ok=True)
    with (CACHE / f"bash-{suite}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not tree.exists():
            unfinished = CACHE / f"bash-{suite}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            argv = ["mmdebstrap", *OPTIONS, suite, str(unfinished)]
            done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=240)
            if done.returncode:
                raise NoBashError(f"mmdebstrap cannot make {suite}: {done.stderr.strip().splitlines()[-3:]}")
            unfinished.chmod(0o755)
            unfinished.rename(tree)
    return tree
