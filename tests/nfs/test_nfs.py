"""Homes on NFS, by a real server and the clients of a real kernel, in a guest.

`make nfs` plays more operations.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cluster.instance import ClusterError
from tests.left_out import not_asked

from .__main__ import play
from .guest import KERNEL, run
from .rules import RULES

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.root("the guest's files are the machine's"),
    pytest.mark.slow("a guest boots"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module", autouse=True)
def _guest(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip all without Debian's User Mode Linux, and where its kernel stops as it starts."""
    if shutil.which(KERNEL) is None:
        pytest.skip("User Mode Linux is not installed")
    try:
        run(["true"], tmp_path_factory.mktemp("guest"), timeout=60)
    except (ClusterError, subprocess.TimeoutExpired):
        not_asked("Debian's User Mode Linux does not boot here")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Why rules do not hold, by their names."""
    folder = tmp_path_factory.mktemp("rules")
    assert play(folder, "tests.nfs.rules") == 0, (folder / "output").read_text()
    found: dict[str, str] = json.loads((folder / "output").read_text().splitlines()[-1])
    return found


@pytest.mark.parametrize("rule", [rule.__name__ for rule in RULES])
def test_clients_have_the_delays_of_nfs(broken: dict[str, str], rule: str) -> None:
    assert not broken[rule]


def test_nothing_is_lost_or_runs_twice(tmp_path: Path) -> None:
    status = play(tmp_path, "tests.nfs.operations", "--operations", "12", "--waits", "0")
    assert status == 0, (tmp_path / "output").read_text()
