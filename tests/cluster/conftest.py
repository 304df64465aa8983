"""Fixtures of the tests that need a real Slurm."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster import sharing
from tests.cluster.boot import locked
from tests.cluster.cluster import Cluster
from tests.cluster.image import make_image
from tests.cluster.instance import GROUP_ID, USERS, ClusterError, default_instance
from tests.cluster.jobs import ROOT
from tests.cluster.packages import fingerprint, missing_packages
from tests.cluster.processes import read
from tests.cluster.watched import COUNTED

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNTER = itertools.count(1)
CODE = ("translator", "templates", "backends")
PACKAGE = ("pyproject.toml", "README.md", "LICENSE", "src", *CODE)
"""What the wheel is made of."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    """Let tests of several processes share the cluster, but those that are marked `alone` have it to themselves."""
    marks = {mark: item.get_closest_marker(mark) is not None for mark in ("alone", "fragile")}
    with contextlib.ExitStack() as stack:
        if sys.platform == "linux" and os.geteuid() == 0:
            with contextlib.suppress(ClusterError):
                stack.enter_context(sharing.turn(default_instance(), **marks))
        return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was counted of each fault."""
    if not COUNTED:
        return
    terminalreporter.section("attempts of jobs that a monitor looked after")
    terminalreporter.line("fault                          accounting  claims  ledger  end")
    for fault, counts, end in COUNTED:
        terminalreporter.line(f"{fault:29}  {counts[0]:10}  {counts[1]:6}  {counts[2]:6}  {end}")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The running cluster; it is taken down at the end if it was booted for these tests.

    PAISLURM_KEEP_CLUSTER=1 leaves it up. Without a cluster the tests are skipped, or with
    PAISLURM_REQUIRE_CLUSTER=1 they fail.
    """
    cluster = Cluster()
    keep = os.environ.get("PAISLURM_KEEP_CLUSTER") == "1"
    with contextlib.ExitStack() as stack:
        try:
            check_machine()
            stack.enter_context(sharing.use(cluster.instance, cluster.up, cluster.down, keep=keep))
        except ClusterError as error:
            if os.environ.get("PAISLURM_REQUIRE_CLUSTER") == "1":
                raise
            pytest.skip(f"no cluster: {error}")
        yield cluster


def check_machine() -> None:
    if sys.platform != "linux":
        raise ClusterError("needs Linux")
    if os.geteuid() != 0:
        raise ClusterError("needs root")
    if missing := missing_packages():
        raise ClusterError(f"packages are missing, run tests/cluster/cluster.py install: {' '.join(missing)}")


@pytest.fixture(scope="session")
def installed(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """The cluster with this checkout's paislurm on alice's PATH; the first process to come installs it."""
    venv = cluster.instance.venv
    with locked(cluster.instance):
        code = [fingerprint(ROOT / name) for name in CODE]
        wanted = "".join([str(ROOT), *code, read(ROOT / "pyproject.toml")])
        if read(venv / "checkout") != wanted + read(venv / "installed-package"):
            install(tmp_path_factory.mktemp("wheel"))
            (venv / "checkout").write_text(wanted + read(venv / "installed-package"))
    return cluster


def install(folder: Path) -> None:
    """Build a wheel, of a copy, since the build leaves files beside its sources, and install it."""
    sources = folder / "sources"
    sources.mkdir()
    for name in PACKAGE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, sources / name, symlinks=True, ignore=shutil.ignore_patterns("*.egg-info"))
        else:
            shutil.copy(ROOT / name, sources / name)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(sources)]
    subprocess.run(pip, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    tool = ["/usr/bin/python3", str(ROOT / "tests/cluster/cluster.py"), "install-package", str(wheel)]
    subprocess.run(tool, check=True, capture_output=True)


@pytest.fixture(scope="session")
def image(cluster: Cluster) -> Path:
    """The folder of a container image, which all users can read."""
    return make_image(cluster.instance)


@pytest.fixture(scope="session")
def programs(cluster: Cluster) -> Path:
    """A folder that all hosts see, with `openmpi` and `mpich`: allreduce.c, compiled for each."""
    folder = cluster.home("alice") / "programs"
    with locked(cluster.instance):
        folder.mkdir(exist_ok=True)
        for name in ("openmpi", "mpich"):
            program = folder / name
            if not program.exists():
                subprocess.run(
                    [f"mpicc.{name}", "-o", str(program), str(ROOT / "tests/cluster/allreduce.c")], check=True
                )
            program.chmod(0o755)
    return folder


@pytest.fixture
def published() -> Path:
    """The folder of published job files: `v1` and `v2`."""
    folder = os.environ.get("PAISLURM_OPENPAI_JOBS")
    if not folder:
        pytest.skip("PAISLURM_OPENPAI_JOBS names no folder of published job files")
    return Path(folder)


@pytest.fixture
def workdir(cluster: Cluster, request: pytest.FixtureRequest) -> Path:
    """A fresh folder of alice's, seen by all hosts."""
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    folder = cluster.home("alice") / "tests" / f"{name[:60]}-{os.getpid()}-{next(COUNTER)}"
    folder.mkdir(parents=True)
    os.chown(folder, USERS["alice"].uid, GROUP_ID)
    return folder
