"""What is installed: Debian packages on the machine, our own package in the cluster's virtual environment."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.hosts import call, enter
from tests.cluster.instance import LOGIN, TOOL, ClusterError, Instance, unprivileged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

POLICY = Path("/usr/sbin/policy-rc.d")


def install_debian_packages(wanted: Sequence[str] = ()) -> list[str]:
    """Install what is wanted and missing, by default of what packages.txt names; return the names."""
    if unprivileged():
        # Clusters unpack what they need.
        return []
    missing = missing_packages(wanted)
    if missing:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        try:
            with no_daemons_start():
                for argv in (["update"], ["install", "--yes", "--no-install-recommends", *missing]):
                    # Progress is talk, not result.
                    subprocess.run(["apt-get", "--quiet", *argv], env=environment, stdout=sys.stderr, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise ClusterError(f"{' '.join(missing)} cannot be installed: {error}") from None
    return missing


def missing_packages(wanted: Sequence[str] = ()) -> list[str]:
    lines = (line.partition("#")[0].strip() for line in (TOOL / "packages.txt").read_text().splitlines())
    wanted = wanted or [line for line in lines if line]
    query = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *wanted]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        answer = ""
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
        options = ["--clear", "--without-pip", *(["--system-site-packages"] if instance.has_own_tree else [])]
        base = sys.executable if unprivileged() else "/usr/bin/python3"
        call([*inside(instance), base, "-m", "venv", *options, str(instance.venv)])
    return python


def inside(instance: Instance) -> list[str]:
    """Return the prefix of a command for the cluster's own Python: the machine's, or that of the hosts' root tree."""
    return enter(instance, LOGIN) if instance.has_own_tree else []


def install_wheel(instance: Instance, wheel: Path) -> None:
    """Install the program for the cluster's users."""
    if instance.has_own_tree:
        unpack_wheel(instance, wheel)
        return
    pip = [sys.executable, "-m", "pip", f"--python={venv_python(instance)}", "-qq"]
    for words in (["uninstall", "--yes", "paislurm"], ["install", str(wheel)]):
        done = subprocess.run([*pip, *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ClusterError(f"{wheel.name} cannot be installed: {done.stderr}".rstrip())


def unpack_wheel(instance: Instance, wheel: Path) -> None:
    """Do what pip does, which a tree has not: hosts reach no registry, and what a wheel needs is in their tree."""
    python = venv_python(instance)
    (packages,) = instance.venv.glob("lib/python3*/site-packages")
    for old in packages.glob("paislurm*"):
        shutil.rmtree(old)
    zipfile.ZipFile(wheel).extractall(packages)
    call([*inside(instance), str(python), "-m", "compileall", "-q", str(packages)])
    program = python.with_name("paislurm")
    program.write_text(f"#!{python}\nfrom paislurm.translator.cli.start import run\n\nrun()\n", encoding="utf-8")
    program.chmod(0o755)
