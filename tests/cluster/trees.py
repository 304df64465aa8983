"""Root trees of other Debian suites, which bring the Slurms, bashes and MPIs that the machine itself has not."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.instance import TOOL, ClusterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CACHE = Path("/var/cache/paislurm-tests")
"""What all checkouts of the machine share; only root can write there."""
ROOM = 3_000_000_000
"""Bytes that a tree takes while it is made, its packages included; 1.2 GB of them stay."""

OVER = TOOL / "over_tree.sh"
PATIENCE = 600
"""Seconds for what is made inside a tree; building pyslurm takes 50, and more where others compute, too."""

DAEMONS = (
    "slurmctld", "slurmd", "slurmdbd", "slurm-client", "slurm-wlm-jwt-plugin", "munge", "mariadb-server", "iproute2",
    "mount", "procps",
)  # fmt: skip
OF_PAISLURM = ("click", "jinja2", "platformdirs", "pydantic", "rich", "yaml")
TOOLS = (
    "bsdutils", "charliecloud", "curl", "environment-modules", "faketime", "gcc", "git", "libc6-dev", "libopenmpi-dev",
    "openmpi-bin", "openssh-client", "openssh-server", "perl-base", "python3", "python3-venv", "rsync",
)  # fmt: skip
WHEELS = ("msgspec",)
"""What the program needs and Debian does not have: wheels of PyPI, for the Python of the tree."""
PACKAGES = (*DAEMONS, *TOOLS, *(f"python3-{name}" for name in OF_PAISLURM))
OPTIONS = (
    "--quiet",
    "--variant=apt",
    "--mode=root",
    f"--include={','.join(PACKAGES)}",
    # Nothing of it is on disk for ever, and sid's lists may be older than they say they may.
    "--dpkgopt=force-unsafe-io",
    '--aptopt=Acquire::Check-Valid-Until "false"',
    # No daemon starts by itself.
    '--setup-hook=mkdir -p "$1/usr/sbin"',
    r'--setup-hook=printf "#!/bin/sh\nexit 101\n" >"$1/usr/sbin/policy-rc.d"',
    '--setup-hook=chmod 755 "$1/usr/sbin/policy-rc.d"',
    '--customize-hook=rm -rf "$1/usr/share/doc" "$1/usr/share/man" "$1/usr/share/locale"',
)

TRIAL = TOOL / "try_slurmdbd.sh"
LIBRARY = "usr/lib/*/libmariadb.so.3"
CHOSEN = "libmariadb-of-slurmdbd"
"""The file of a tree that says which library slurmdbd has, and why."""


def tree(suite: str) -> Path:
    """Return the folder of a suite's root tree with Slurm, which the first process to come makes: half a minute."""
    return make_tree(CACHE, suite, (*OPTIONS, suite), choose_library, wheels=WHEELS)


def choose_library(root: Path) -> None:
    """Leave the first libmariadb in a tree with which slurmdbd starts: the suite's own, else the machine's.

    With libmariadb3 11.8.9, in Debian since 2026, slurmdbd stops: "error 5027", `_check_mysql_concat_is_sane`. Which
    suite has which changes from day to day, so it is tried. ClusterError has the last lines of slurmdbd.
    """
    (own,) = root.glob(LIBRARY)
    faults = {}
    for owner, library in (("the suite", own), *(("this machine", path) for path in Path("/").glob(LIBRARY))):
        if library != own:
            shutil.copy2(library, own)
        fault = fault_of_slurmdbd(root)
        if not fault:
            because = "".join(f"; with that of {other} slurmdbd says: {said}" for other, said in faults.items())
            (root / CHOSEN).write_text(f"libmariadb of {owner}{because}\n")
            return
        faults[owner] = fault
    said = "\n".join(f"with libmariadb of {owner}: {fault}" for owner, fault in faults.items())
    raise ClusterError(f"slurmdbd does not start in {root}:\n{said}")


def fault_of_slurmdbd(root: Path) -> str:
    """Start slurmdbd once in a tree; return its last lines if it does not listen, else ""."""
    alone = ["unshare", "--mount", "--propagation=private", "--net", "--ipc", "--pid", "--fork", "--kill-child"]
    tried = subprocess.run(
        [*alone, "bash", str(TRIAL), str(root)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    return "" if tried.returncode == 0 else tried.stderr.strip() or f"exit status {tried.returncode}"


def library_of(root: Path) -> str:
    """Say which libmariadb a tree has, if it is not its own, and where one can read why."""
    chosen = (root / CHOSEN).read_text().partition(";")[0]
    return "" if chosen.strip() == "libmariadb of the suite" else f"; {chosen}: {root / CHOSEN} says why"


def make_tree(
    folder: Path,
    name: str,
    options: Sequence[str],
    finish: Callable[[Path], None] = lambda _: None,
    *,
    wheels: Sequence[str] = (),
) -> Path:
    """Return a root tree below a folder; unless it exists with the same options, mmdebstrap and `finish` make it.

    `wheels` are packages of PyPI, which its Python has beside those of Debian.
    """
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    path = folder / f"{name}-{zlib.crc32(' '.join((*options, *wheels)).encode()):08x}"
    unfinished = folder / f"{name}.unfinished"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            shutil.rmtree(unfinished, ignore_errors=True)
            check_room(folder)
            made = subprocess.run(
                ["mmdebstrap", *options, str(unfinished)], capture_output=True, text=True, check=False
            )
            if made.returncode != 0:
                raise ClusterError(f"mmdebstrap cannot make {path}:\n{made.stderr[-3000:]}")
            unpack_wheels(unfinished, wheels)
            finish(unfinished)
            unfinished.rename(path)
    return path


def unpack_wheels(root: Path, wheels: Sequence[str]) -> None:
    """Unpack the newest wheels for a tree's Python among its own packages: a tree has neither pip nor a network."""
    if not wheels:
        return
    version = (root / "usr/bin/python3").readlink().name.removeprefix("python")
    kinds = (f"--platform=manylinux_{number}_{platform.machine()}" for number in ("2_17", "2_28"))
    argv = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", *kinds]
    with tempfile.TemporaryDirectory() as folder:
        argv += [f"--python-version={version}", f"--dest={folder}", *wheels]
        got = subprocess.run(argv, capture_output=True, text=True, check=False)
        if got.returncode != 0:
            raise ClusterError(f"{root} lacks {', '.join(wheels)}:\n{got.stderr[-3000:]}")
        for wheel in Path(folder).iterdir():
            zipfile.ZipFile(wheel).extractall(root / "usr/lib/python3/dist-packages")


def made_over(name: str, suite: str, script: str, *arguments: str, stdin: str = "") -> Path:
    """Return a folder of what a script makes inside a suite's tree, in `/here`; the first process to come runs it.

    The tree stays as it is. ClusterError says why where it fails.
    """
    root = tree(suite)
    key = "\0".join([root.name, script, *arguments, stdin, OVER.read_text()])
    folder = CACHE / f"{name}-{suite}-{zlib.crc32(key.encode()):08x}"
    with (CACHE / f"{name}-{suite}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            part = CACHE / f"{name}-{suite}.unfinished"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(mode=0o755)
            argv = ["unshare", "--mount", "--propagation=private", "bash", str(OVER), str(root), str(part), script]
            try:
                made = subprocess.run(
                    [*argv, *arguments], input=stdin, capture_output=True, text=True, timeout=PATIENCE, check=False
                )
            except subprocess.TimeoutExpired:
                raise ClusterError(f"{name} is not there after {PATIENCE} s") from None
            if made.returncode != 0:
                said = [line for line in (made.stdout + made.stderr).splitlines() if "rror" in line or line[:2] == "E:"]
                raise ClusterError(f"{name} cannot be made for {suite}: {'; '.join(said[-3:])[:600]}")
            part.rename(folder)
    return folder


def check_room(folder: Path) -> None:
    status = os.statvfs(folder)
    if (free := status.f_bavail * status.f_frsize) < ROOM:
        raise ClusterError(f"{folder} has room for {free // 1_000_000} MB; a root tree needs {ROOM // 1_000_000} MB")
