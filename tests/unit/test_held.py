"""Clusters that are booted before the tests: one that does not boot is one failure, or its tests are skipped."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cluster import held
from tests.cluster.cluster import Cluster
from tests.cluster.instance import ClusterError, Instance
from tests.cluster.kinds import KINDS, SLURMS, USUAL
from tests.cluster.running import running

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.kinds import Kind

WHY = "slurmctld ended, of log:\nfatal: no"


@pytest.fixture
def done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which clusters were booted and taken down; with the newest Slurm that of the kind `sparse` does not boot."""
    done: list[str] = []

    def up(cluster: Cluster) -> bool:
        done.append(f"up {cluster.instance.folder.name}")
        if (cluster.instance.slurm, cluster.instance.kind.name) == ("newest", "sparse"):
            raise ClusterError(WHY)
        return True

    def instance(slurm: str, kind: Kind) -> Instance:
        found = Instance(tmp_path / f"{slurm}{kind.suffix}", slurm, kind)
        found.run.mkdir(parents=True, exist_ok=True)
        return found

    monkeypatch.setattr(held, "default_instance", instance)
    monkeypatch.setattr("tests.cluster.running.default_instance", instance)
    monkeypatch.setattr(held, "versions", lambda slurm: f"{slurm}: as it is")
    monkeypatch.setattr(held, "install_checkout", lambda _: None)
    monkeypatch.setattr(held, "prepare", lambda: "")
    monkeypatch.setattr(Cluster, "up", up)
    monkeypatch.setattr(Cluster, "down", lambda cluster: done.append(f"down {cluster.instance.folder.name}"))
    for name in ("PAISLURM_REQUIRE_CLUSTER", "PAISLURM_KEEP_CLUSTER"):
        monkeypatch.delenv(name, raising=False)
    return done


def test_each_cluster_boots_once_and_stops_after_the_command(done: list[str], tmp_path: Path) -> None:
    file = tmp_path / "not-booted"
    assert held.run(["sh", "-c", f'printf %s "${held.VARIABLE}" >{file}; exit 7']) == 7
    assert json.loads(file.read_text()) == {str(tmp_path / "newest-sparse"): WHY}
    wanted = {f"{slurm}{kind.suffix}" for kind in KINDS.values() for slurm in SLURMS if slurm in kind.slurms}
    assert sorted(line for line in done if line.startswith("up")) == sorted(f"up {name}" for name in wanted)
    assert {line for line in done if line.startswith("down")} == {f"down {name}" for name in wanted - {"newest-sparse"}}


def test_if_all_are_required_a_failed_boot_ends_the_run(
    done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PAISLURM_REQUIRE_CLUSTER", "1")
    with pytest.raises(ClusterError, match="the tests need all clusters"):
        held.run(["touch", str(tmp_path / "called")])
    assert not (tmp_path / "called").exists()
    assert capfd.readouterr().err.count(f"cluster.py: {WHY}\n") == 1
    assert "down own" in done


def test_a_cluster_that_failed_to_boot_is_not_tried_again(
    done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(held.NOT_BOOTED, str(tmp_path / "next"), WHY)
    with pytest.raises(pytest.skip.Exception, match="fatal: no"), running("next", USUAL):
        pass
    assert done == []


def test_a_machine_without_root_boots_no_cluster_and_runs_the_command(
    done: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(held, "prepare", lambda: "three Slurms: needs root and namespaces")
    assert held.run(["sh", "-c", "exit 7"]) == 7
    assert done == []
    assert capfd.readouterr().err == "cluster.py: three Slurms: needs root and namespaces\n"
    monkeypatch.setenv("PAISLURM_REQUIRE_CLUSTER", "1")
    with pytest.raises(ClusterError, match="the tests need all clusters"):
        held.run(["true"])
