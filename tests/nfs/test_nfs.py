"""Homes on NFS, by a real server and the clients of a real kernel, in a guest.

`make nfs` plays more operations.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from .__main__ import play
from .guest import KERNEL
from .rules import RULES

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.root("the guest's files are the machine's"),
    pytest.mark.slow("a guest boots"),
    pytest.mark.skipif(
        shutil.which(KERNEL) is None and os.environ.get("PAISLURM_REQUIRE_CLUSTER") != "1",
        reason="`make cluster-packages` installs User Mode Linux and the NFS server",
    ),
]


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
