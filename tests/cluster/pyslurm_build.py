"""pyslurm, built of its sources on PyPI inside a root tree, for the tests of the backend that asks it.

It is GPL-2.0-only: nothing of it is in this repository. It takes a minute, once a machine.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster import trees
from tests.cluster.boot import locked
from tests.cluster.hosts import call, enter
from tests.cluster.instance import LOGIN, SUITES, TOOL, ClusterError

if TYPE_CHECKING:
    from tests.cluster.instance import Instance

REQUIREMENT = "pyslurm==25.11.2"
CLAIMED = "0x190b02"
"""The version of Slurm that it is for, 25.11.2, as the headers of that have it."""
SLURM = "26.05"
"""The Slurm that it is built for in its place. The pair is unsupported: PyPI has none for any Slurm that Debian has."""
HEADER = TOOL / "pyslurm_headers" / "of_26_05.h"
SCRIPT = TOOL / "pyslurm_build.sh"
PATIENCE = 600
"""Seconds; it takes 50, and some more where others compute, too."""


def why_not(slurm: str) -> str:
    """Say why there is none for a Slurm, "" where one can be built."""
    return "" if slurm == SLURM else f"PyPI has no pyslurm for Slurm {slurm}, nor one that can be built for it"


def wheel() -> Path:
    """Return the folder with the wheel, which the first process to come makes; ClusterError where that fails."""
    tree = trees.tree(SUITES[SLURM])
    parts = [tree.name, REQUIREMENT, HEADER.read_text(), SCRIPT.read_text()]
    folder = trees.CACHE / f"pyslurm-{zlib.crc32(' '.join(parts).encode()):08x}"
    with (trees.CACHE / "pyslurm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=trees.CACHE) as part:
                make_wheel(tree, Path(part))
                shutil.copytree(Path(part), folder.with_suffix(".part"), dirs_exist_ok=True)
            folder.with_suffix(".part").rename(folder)
    return folder


def make_wheel(tree: Path, folder: Path) -> None:
    """Leave the wheel in a folder; the tree stays as it is: what the compiler needs is laid over it meanwhile."""
    (folder / "slurm").mkdir()
    (folder / "slurm" / "slurm_version.h").write_text(f"#define SLURM_VERSION_NUMBER {CLAIMED}\n")
    shutil.copy(HEADER, folder / "before.h")
    argv = ["unshare", "--mount", "--propagation=private", "bash", str(SCRIPT), str(tree), str(folder), REQUIREMENT]
    try:
        made = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise ClusterError(f"{REQUIREMENT} is not built in {PATIENCE} s") from None
    if made.returncode != 0 or not any(folder.glob("*.whl")):
        said = [line for line in (made.stdout + made.stderr).splitlines() if "rror" in line or line.startswith("E:")]
        raise ClusterError(f"{REQUIREMENT} cannot be built for Slurm {SLURM}: {'; '.join(said[-3:])[:600]}")


def install(instance: Instance) -> Path:
    """Return a Python of the cluster that has it, and nothing else of ours."""
    (found,) = wheel().glob("*.whl")
    folder = instance.folder / f"pyslurm-{found.parent.name}"
    python = folder / "bin" / "python"
    with locked(instance):
        if not python.exists():
            part = folder.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            inside = enter(instance, LOGIN)
            call([*inside, "/usr/bin/python3", "-m", "venv", "--without-pip", str(part)])
            (packages,) = part.glob("lib/python3*/site-packages")
            call(["/usr/bin/python3", "-m", "zipfile", "-e", str(found), str(packages)])
            part.rename(folder)
    return python
