"""Horovod, built of its sources on PyPI for Debian's PyTorch and Open MPI (`make horovod`), for the tests of it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.packages import install_debian_packages

if TYPE_CHECKING:
    from tests.cluster.instance import Instance

REQUIREMENT = "horovod==0.28.1"
WHEELS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "paislurm", REQUIREMENT)
BUILD_PACKAGES = ("cmake", "g++", "libtorch-dev", "make", "pybind11-dev", "python3-dev")
CHOICES = {
    **dict.fromkeys(("HOROVOD_WITH_MPI", "HOROVOD_WITH_PYTORCH"), "1"),
    **dict.fromkeys(("HOROVOD_WITHOUT_GLOO", "HOROVOD_WITHOUT_MXNET", "HOROVOD_WITHOUT_TENSORFLOW"), "1"),
}


def build() -> None:
    """Leave wheels of Horovod and of what it needs in the cache, which checkouts share: two minutes."""
    if is_built():
        return
    install_debian_packages(BUILD_PACKAGES)
    with tempfile.TemporaryDirectory() as folder:
        pip = [*new_venv(Path(folder, "venv")), "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "setuptools<81", "wheel"], check=True)
        # Its setup asks the PyTorch that is there, which an isolated build does not see.
        options = ["--no-build-isolation", "--no-cache-dir", f"--wheel-dir={folder}/wheels"]
        subprocess.run([*pip, "wheel", *options, REQUIREMENT], env={**os.environ, **CHOICES}, check=True)
        WHEELS.mkdir(parents=True, exist_ok=True)
        for path in Path(folder, "wheels").iterdir():
            (WHEELS / path.name).write_bytes(path.read_bytes())


def is_built() -> bool:
    return any(WHEELS.glob("horovod-*.whl"))


def install(instance: Instance) -> Path:
    """Return a virtual environment with Horovod that the users can read; the caller has the instance's lock."""
    venv = instance.folder / "horovod"
    if not (venv / "bin" / "horovodrun").exists():
        pip = [*new_venv(venv), "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--no-index", f"--find-links={WHEELS}", REQUIREMENT], check=True)
    return venv


def new_venv(folder: Path) -> list[str]:
    """Make a virtual environment over Debian's Python packages, and return its pip."""
    argv = ["/usr/bin/python3", "-m", "venv", "--clear", "--system-site-packages", str(folder)]
    subprocess.run(argv, check=True)
    return [str(folder / "bin" / "python"), "-m", "pip"]
