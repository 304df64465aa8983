"""One suite for several Slurms: which ones, and what a case gets of each.

The suite runs on clusters of the project's own, or with PAISLURM_CONTRACT_PROFILE, which names a site profile, as the
user who calls it on the cluster where it is called.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from paislurm.translator.site.slurm_version import slurm_version
from tests.cluster.checkout import install_checkout
from tests.cluster.kinds import SLURMS as OURS
from tests.cluster.kinds import USUAL
from tests.cluster.left_behind import cancel_if_failed
from tests.cluster.running import running
from tests.cluster.tmux import windows
from tests.contract.site import PROFILE, SLURMS, Site, profile_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.cluster import Cluster
    from tests.cluster.kinds import Kind
    from tests.cluster.tmux import Tmux

COUNTER = itertools.count(1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "way" in metafunc.fixturenames:
        ways = getattr(metafunc.function, "ways", metafunc.module.ALL_WAYS)
        pairs = [(slurm, way) for slurm in SLURMS for way in ways if slurm in way.slurms or slurm not in OURS]
        ids = [f"{slurm}-{way.name}" for slurm, way in pairs]
        metafunc.parametrize(("site", "way"), pairs, indirect=["site"], ids=ids)
    elif "site" in metafunc.fixturenames:
        metafunc.parametrize("site", SLURMS, indirect=True, ids=SLURMS)


@pytest.fixture(scope="session")
def clusters() -> Iterator[Callable[[str, Kind], Cluster]]:
    """Clusters by version and kind; each stays up until the session ends, whatever comes between its cases."""
    with contextlib.ExitStack() as stack:
        known: dict[tuple[str, Kind], Cluster] = {}

        def cluster_of(slurm: str, kind: Kind) -> Cluster:
            if (slurm, kind) not in known:
                cluster = stack.enter_context(running(slurm, kind))
                install_checkout(cluster.instance)
                known[slurm, kind] = cluster
            return known[slurm, kind]

        yield cluster_of


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> Kind:
    """The kind of site that the module of a case names."""
    found: Kind = getattr(request.module, "KIND", USUAL)
    return found


@pytest.fixture
def site(request: pytest.FixtureRequest, clusters: Callable[[str, Kind], Cluster], kind: Kind) -> Site:
    """The cluster that the case is for, of this kind, with the profile that its module has for it."""
    if request.param == "site":
        if kind != USUAL:
            pytest.skip("needs a site of another kind")
        reported = subprocess.run(["sbatch", "--version"], capture_output=True, text=True, check=True).stdout
        return Site(str(slurm_version(reported)), Path("~/paislurm-contract").expanduser(), profile_of(PROFILE))
    cluster = clusters(request.param, kind)
    profile = getattr(request.module, "PROFILE", profile_of(None))
    return Site(str(slurm_version(cluster.slurm)), cluster.home("alice"), profile, cluster)


@pytest.fixture
def folder(site: Site, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A fresh folder of the user's, seen by all hosts."""
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name.removeprefix("test_"))
    found = site.own(site.folder / "contract" / f"{name[:50]}-{os.getpid()}-{next(COUNTER)}")
    yield found
    if site.cluster:
        cancel_if_failed(site.cluster, request.node, found.name)


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Callable[..., Tmux]]:
    """What opens a window of tmux of a width and a height, in which a program runs."""
    yield from windows(tmp_path)


@pytest.fixture
def installed(site: Site) -> Cluster:
    """The cluster that the case is for, with its administrator's hands."""
    return site.administrator


@pytest.fixture
def workdir(folder: Path) -> Path:
    """A fresh folder of alice's, seen by all hosts."""
    return folder
