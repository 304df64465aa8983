"""The checkout's paislurm, on the PATH of a cluster's users."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.boot import made_once
from tests.cluster.instance import CHECKOUT
from tests.cluster.packages import build_wheel, fingerprint
from tests.cluster.processes import read

if TYPE_CHECKING:
    from tests.cluster.instance import Instance

CODE = ("translator", "templates", "backends")
PACKAGE = ("pyproject.toml", "README.md", "LICENSE", "src", *CODE)
"""What the wheel is made of."""


def install_checkout(instance: Instance) -> None:
    """Install the checkout unless a cluster has it already; the first process to come does it."""
    made_once(instance, installed_checkout)


def installed_checkout(instance: Instance) -> Path:
    stamp = instance.venv / "checkout"
    code = [fingerprint(CHECKOUT / name) for name in CODE]
    wanted = "".join([str(CHECKOUT), *code, read(CHECKOUT / "pyproject.toml")])
    if read(stamp) != wanted + read(instance.venv / "installed-package"):
        with tempfile.TemporaryDirectory() as folder:
            install(instance, Path(folder))
        stamp.write_text(wanted + read(instance.venv / "installed-package"))
    return stamp


def install(instance: Instance, folder: Path) -> None:
    """Build a wheel, of a copy, since the build leaves files beside its sources, and install it."""
    sources = folder / "sources"
    sources.mkdir()
    for name in PACKAGE:
        if (CHECKOUT / name).is_dir():
            ignored = shutil.ignore_patterns("*.egg-info")
            shutil.copytree(CHECKOUT / name, sources / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(CHECKOUT / name, sources / name)
    wheel = build_wheel(sources, folder)
    tool = ["/usr/bin/python3", str(CHECKOUT / "tests/cluster/cluster.py"), "--slurm", instance.slurm]
    tool.append(f"--kind={instance.kind.name}")
    subprocess.run([*tool, "install-package", str(wheel)], check=True, capture_output=True)
