"""Folders of clusters on this machine: what hosts see of a package, and what is left when a cluster is removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster import boot
from tests.cluster.instance import Instance
from tests.cluster.kinds import KINDS

if TYPE_CHECKING:
    from pathlib import Path

OTHER = "next"


@pytest.mark.parametrize("kind", ["", "sparse"])
def test_the_last_cluster_of_a_checkout_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(boot, "clear", lambda _: None)
    suffix = KINDS[kind].suffix
    usual = Instance(tmp_path / "cluster")
    other = Instance(tmp_path / f"cluster-{OTHER}{suffix}", OTHER, KINDS[kind])
    for folder in (usual.folder, other.base, other.folder):
        folder.mkdir(exist_ok=True)
    (usual.folder / "image").touch()
    boot.down(other, purge=True)
    assert {path.name for path in tmp_path.iterdir()} == {"cluster"}
    boot.down(usual)
    assert usual.folder.exists()
    boot.down(usual, purge=True)
    assert list(tmp_path.iterdir()) == []
    usual.folder.mkdir()
    boot.down(other, purge=True)
    assert list(tmp_path.iterdir()) == []
