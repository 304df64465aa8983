"""Builds of bash for the tests: the machine's own, and those of other Debian releases with their C libraries."""

from __future__ import annotations

import os
import shutil

from tests.cluster import trees
from tests.cluster.instance import SUITES, ClusterError

OWN = "own"
OLDER = "bullseye"
"""The oldest release of Debian whose packages mirrors keep."""
BASHES = (OLDER, OWN, *SUITES.values())
OPTIONS = (
    "--quiet",
    "--variant=extract",
    "--include=bash,libc6,libtinfo6",
    # An old release is signed for a time that may be over.
    '--aptopt=Acquire::Check-Valid-Until "false"',
    OLDER,
)


class NoBashError(Exception):
    """Say why a bash is not to be had here."""


def find(name: str) -> list[str]:
    """Return the words that start a bash, fetched if need be: that of the machine, or of a release of Debian."""
    if name == OWN:
        return [shutil.which("bash", path="/usr/bin:/bin") or "bash"]
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        raise NoBashError(f"the bash of Debian's {name} needs root and mmdebstrap to be fetched")
    try:
        tree = trees.make_tree(trees.CACHE, "bash", OPTIONS) if name == OLDER else trees.tree(name)
    except ClusterError as error:
        raise NoBashError(str(error)) from None
    libraries = [path for path in tree.glob("*lib/*-linux-gnu") if path.is_dir()]
    libraries += [path for path in tree.glob("usr/lib/*-linux-gnu") if path.is_dir()]
    loaders = [path for folder in libraries for path in folder.glob("ld-linux*.so.*")]
    if not loaders:
        raise NoBashError(f"{tree} has no loader of programs")
    return [str(loaders[0]), "--library-path", ":".join(map(str, libraries)), str(tree / "bin/bash")]
