"""Folders of clusters on this machine: what hosts see of a package, and what is left when a cluster is removed."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.cluster import boot, packages
from tests.cluster.instance import Instance
from tests.cluster.kinds import KINDS

if TYPE_CHECKING:
    from pathlib import Path

OTHER = "next"


def test_hosts_with_a_tree_of_their_own_get_a_copy_of_a_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "paislurm-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("paislurm/__init__.py", "")
    folder = tmp_path / f"cluster-{OTHER}"
    folder.mkdir()
    with packages.seen_by_hosts(Instance(folder, OTHER), wheel) as found:
        assert found.is_relative_to(folder)
        assert (found.name, found.read_bytes()) == (wheel.name, wheel.read_bytes())
    assert list(folder.iterdir()) == []
    with packages.seen_by_hosts(Instance(tmp_path / "cluster"), wheel) as found:
        assert found == wheel


def test_a_source_folder_is_built_before_such_hosts_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, source = tmp_path / f"cluster-{OTHER}", tmp_path / "checkout"
    for path in (folder, source / "src", source / ".git", source / "build"):
        path.mkdir(parents=True)
    (source / "src" / "link").symlink_to("../code")

    def build(sources: Path, to: Path) -> Path:
        assert {path.name for path in sources.iterdir()} == {"src"}
        assert (sources / "src" / "link").is_symlink()
        (to / "made.whl").touch()
        return to / "made.whl"

    monkeypatch.setattr(packages, "build_wheel", build)
    with packages.seen_by_hosts(Instance(folder, OTHER), source) as found:
        assert found.is_relative_to(folder)
        assert found.is_file()
    assert list(folder.iterdir()) == []
    assert {path.name for path in source.iterdir()} == {"src", ".git", "build"}


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
