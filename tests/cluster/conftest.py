"""Fixtures of the tests that need a real Slurm."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.instance import GROUP_ID, USERS, ClusterError
from tests.cluster.jobs import ROOT
from tests.cluster.packages import missing_packages
from tests.cluster.watched import COUNTED

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
COUNTER = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)


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
    try:
        booted = boot(cluster)
    except ClusterError as error:
        if os.environ.get("PAISLURM_REQUIRE_CLUSTER") == "1":
            raise
        pytest.skip(f"no cluster: {error}")
    yield cluster
    if booted and os.environ.get("PAISLURM_KEEP_CLUSTER") != "1":
        cluster.down()


def boot(cluster: Cluster) -> bool:
    if sys.platform != "linux":
        raise ClusterError("needs Linux")
    if os.geteuid() != 0:
        raise ClusterError("needs root")
    if missing := missing_packages():
        raise ClusterError(f"packages are missing, run tests/cluster/cluster.py install: {' '.join(missing)}")
    return cluster.up()


@pytest.fixture(scope="session")
def installed(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """The cluster with this checkout's paislurm on alice's PATH."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)]
    subprocess.run(pip, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    tool = ["/usr/bin/python3", str(ROOT / "tests/cluster/cluster.py"), "install-package", str(wheel)]
    subprocess.run(tool, check=True, capture_output=True)
    return cluster


@pytest.fixture
def workdir(cluster: Cluster, request: pytest.FixtureRequest) -> Path:
    """A fresh folder of alice's, seen by all hosts."""
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    folder = cluster.home("alice") / "tests" / f"{name[:60]}-{os.getpid()}-{next(COUNTER)}"
    folder.mkdir(parents=True)
    os.chown(folder, USERS["alice"].uid, GROUP_ID)
    return folder
