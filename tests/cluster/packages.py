"""What is installed: Debian packages on the machine, our own package in the cluster's virtual environment."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.hosts import call, enter
from tests.cluster.instance import LOGIN, TOOL, ClusterError, Instance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

POLICY = Path("/usr/sbin/policy-rc.d")


def install_debian_packages(wanted: Sequence[str] = ()) -> list[str]:
    """Install what is wanted and missing, by default of what packages.txt names; return the names."""
    missing = missing_packages(wanted)
    if missing:
        if os.geteuid() != 0:
            raise ClusterError(f"only root can install packages: {' '.join(missing)}")
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        with no_daemons_start():
            for argv in (["update"], ["install", "--yes", "--no-install-recommends", *missing]):
                # Progress is talk, not result.
                subprocess.run(["apt-get", "--quiet", *argv], env=environment, stdout=sys.stderr, check=True)
    return missing


def missing_packages(wanted: Sequence[str] = ()) -> list[str]:
    lines = (line.partition("#")[0].strip() for line in (TOOL / "packages.txt").read_text().splitlines())
    wanted = wanted or [line for line in lines if line]
    query = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *wanted]
    answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    installed = {line.split()[0] for line in answer.splitlines() if line.endswith(" installed")}
    return [name for name in wanted if name not in installed]


@contextlib.contextmanager
def no_daemons_start() -> Iterator[None]:
    """Have Debian's maintainer scripts start nothing, and put back what the machine had for that."""
    before = POLICY.read_bytes() if POLICY.exists() else None
    mode = POLICY.stat().st_mode if before is not None else 0o755
    POLICY.write_text("#!/bin/sh\nexit 101\n")
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        if before is None:
            POLICY.unlink()
        else:
            POLICY.write_bytes(before)
            POLICY.chmod(mode)


def venv_python(instance: Instance) -> Path:
    """Return the python of the cluster's virtual environment, which is made when it is missing."""
    python = instance.venv / "bin" / "python"
    if not python.exists():
        # Hosts with a root tree of their own reach no registry: what the package needs is in their tree.
        options = ["--clear", *(["--system-site-packages"] if instance.has_own_tree else [])]
        call([*inside(instance), "/usr/bin/python3", "-m", "venv", *options, str(instance.venv)])
    return python


def inside(instance: Instance) -> list[str]:
    """Return the prefix of a command for the cluster's own Python: the machine's, or that of the hosts' root tree."""
    return enter(instance, LOGIN) if instance.has_own_tree else []


def install_package(instance: Instance, source: Path) -> bool:
    """Install a wheel or a source folder for the cluster's users; return False when it is there already.

    Dependencies are installed when the package's list of them has changed, not each time.
    """
    python = venv_python(instance)
    stamp = instance.venv / "installed-package"
    wanted = fingerprint(source)
    if stamp.exists() and stamp.read_text() == wanted:
        return False
    stamp.unlink(missing_ok=True)
    pip = [*inside(instance), str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    with seen_by_hosts(instance, source) as package:
        subprocess.run([*pip, "--force-reinstall", "--no-deps", str(package)], check=True)
        complete = subprocess.run(
            [*inside(instance), str(python), "-m", "pip", "check"], stdout=subprocess.DEVNULL, check=False
        )
        if complete.returncode != 0:
            subprocess.run([*pip, str(package)], check=True)
    stamp.write_text(wanted)
    return True


@contextlib.contextmanager
def seen_by_hosts(instance: Instance, source: Path) -> Iterator[Path]:
    """Return a wheel or a source folder as the cluster's own Python finds it.

    Hosts with a root tree of their own see few folders of the machine's, and build nothing: that needs a registry.
    """
    if not instance.has_own_tree:
        yield source
        return
    with tempfile.TemporaryDirectory(dir=instance.base) as name:
        folder = Path(name)
        if source.is_file():
            yield Path(shutil.copy(source, folder))
        else:
            ignored = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__")
            yield build_wheel(shutil.copytree(source, folder / "sources", symlinks=True, ignore=ignored), folder)


def build_wheel(sources: Path, folder: Path) -> Path:
    """Build a wheel into a folder and return it; the build leaves files beside the sources."""
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(sources)]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ClusterError(f"{sources}: no wheel can be built\n{done.stderr}".rstrip())
    (wheel,) = folder.glob("*.whl")
    return wheel


def fingerprint(source: Path) -> str:
    """Return a hash of a wheel's members or of a folder's files; times do not count in wheels."""
    if not source.exists():
        raise ClusterError(f"{source}: no such wheel or folder")
    if source.is_file():
        with zipfile.ZipFile(source) as wheel:
            entries = sorted(f"{member.filename} {member.CRC}" for member in wheel.infolist())
    else:
        entries = sorted(source_files(source))
    return hashlib.sha256("\n".join(entries).encode()).hexdigest()


def source_files(folder: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "build", "__pycache__"))]
        for name in files:
            status = os.lstat(Path(parent, name))
            yield f"{parent}/{name} {status.st_size} {status.st_mtime_ns}"
