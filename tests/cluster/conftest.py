"""Fixtures of the tests that need a real Slurm."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.boot import locked
from tests.cluster.checkout import install_checkout
from tests.cluster.image import make_image
from tests.cluster.instance import GROUP_ID, USERS
from tests.cluster.kinds import NODES
from tests.cluster.left_behind import cancel_if_failed
from tests.cluster.running import running
from tests.cluster.watched import COUNTED
from tests.left_out import NO_PUBLISHED_JOBS, not_asked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.cluster import Cluster

COUNTER = itertools.count(1)


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
    """The running cluster of the machine's own Slurm."""
    with running() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def installed(cluster: Cluster) -> Cluster:
    """The cluster with this checkout's paislurm on alice's PATH."""
    install_checkout(cluster.instance)
    return cluster


@pytest.fixture(scope="session")
def image(cluster: Cluster) -> Path:
    """The folder of a container image, which all users can read."""
    return make_image(cluster.instance)


@pytest.fixture
def published() -> Path:
    """The folder of published job files: `v1` and `v2`."""
    folder = os.environ.get("PAISLURM_OPENPAI_JOBS")
    if not folder:
        not_asked(NO_PUBLISHED_JOBS)
    return Path(folder)


@pytest.fixture
def workdir(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A fresh folder of alice's, seen by all hosts; the nodes of the partition `normal` are in service."""
    with locked(cluster.instance):
        cluster.revive(NODES[:4])
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    folder = cluster.home("alice") / "tests" / f"{name[:60]}-{os.getpid()}-{next(COUNTER)}"
    folder.mkdir(parents=True)
    os.chown(folder, USERS["alice"].uid, GROUP_ID)
    yield folder
    cancel_if_failed(cluster, request.node, folder.name)
