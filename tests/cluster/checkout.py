"""The checkout's paislurm, on the PATH of a cluster's users."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.boot import made_once
from tests.cluster.instance import CHECKOUT, ClusterError
from tests.cluster.packages import install_wheel
from tests.cluster.processes import read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.instance import Instance

CODE = ("translator", "templates", "backends")
PACKAGE = ("pyproject.toml", "README.md", "LICENSE", "src", *CODE)
"""What the wheel is made of."""


def install_checkout(instance: Instance) -> None:
    """Install the checkout unless a cluster has it already; the first process to come does it."""
    made_once(instance, installed_checkout)


def installed_checkout(instance: Instance) -> Path:
    wheel = built_wheel(instance.shared)
    stamp = instance.venv / "checkout"
    if read(stamp) != str(wheel):
        install_wheel(instance, wheel)
        stamp.write_text(str(wheel))
    return stamp


def built_wheel(shared: Path) -> Path:
    """Return the checkout's wheel, in a folder that all hosts of its clusters see; the first process builds it."""
    shared.mkdir(parents=True, exist_ok=True)
    with (shared / "wheel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        place = shared / f"wheel-{fingerprint()}"
        if not place.exists():
            for old in shared.glob("wheel-*"):
                shutil.rmtree(old)
            with tempfile.TemporaryDirectory(dir=shared) as folder:
                build(Path(folder)).rename(place)
    (wheel,) = place.glob("*.whl")
    return wheel


def build(folder: Path) -> Path:
    """Build a wheel, of a copy, since the build leaves files beside its sources; return the folder that has it."""
    sources, wheels = folder / "sources", folder / "wheels"
    sources.mkdir()
    for name in PACKAGE:
        if (CHECKOUT / name).is_dir():
            ignored = shutil.ignore_patterns("*.egg-info")
            shutil.copytree(CHECKOUT / name, sources / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(CHECKOUT / name, sources / name)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(wheels), str(sources)]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ClusterError(f"{CHECKOUT}: no wheel can be built\n{done.stderr}".rstrip())
    return wheels


def fingerprint() -> str:
    """Return a hash of the files of the package, by their sizes and times."""
    entries = sorted(entry for name in PACKAGE for entry in files_of(CHECKOUT / name))
    return hashlib.sha256("\n".join(entries).encode()).hexdigest()[:16]


def files_of(path: Path) -> Iterator[str]:
    folders = os.walk(path) if path.is_dir() else [(path.parent, [], [path.name])]
    for parent, inner, files in folders:
        inner[:] = [name for name in inner if not name.startswith((".", "build", "__pycache__"))]
        for name in files:
            status = Path(parent, name).lstat()
            yield f"{parent}/{name} {status.st_size} {status.st_mtime_ns}"
