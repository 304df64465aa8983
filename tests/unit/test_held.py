"""Clusters that are booted before the tests: one that does not boot is one failure, or its tests are skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster import held
from tests.cluster.cluster import Cluster
from tests.cluster.instance import ClusterError, Instance
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
    monkeypatch.setattr(held, "unprivileged", lambda: False)
    monkeypatch.setattr(Cluster, "up", up)
    monkeypatch.setattr(Cluster, "down", lambda cluster: done.append(f"down {cluster.instance.folder.name}"))
    for name in ("PAISLURM_REQUIRE_CLUSTER", "PAISLURM_KEEP_CLUSTER"):
        monkeypatch.delenv(name, raising=False)
    return done


def test_if_all_are_required_a_failed_boot_ends_the_run(
    done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PAISLURM_REQUIRE_CLUSTER", "1")
    with pytest.raises(ClusterError, match="the tests need all clusters"):
        held.run(["touch", str(tmp_path / "called")])
    assert not (tmp_path / "called").exists()
    assert capfd.readouterr().err.count(f"cluster.py: {WHY}\n") == 1
    assert "down own" in done


def test_an_unfit_machine_boots_no_cluster_and_runs_the_command(
    done: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(held, "prepare", lambda: "three Slurms: needs Linux")
    assert held.run(["sh", "-c", "exit 7"]) == 7
    assert done == []
    assert capfd.readouterr().err == "cluster.py: three Slurms: needs Linux\n"
    monkeypatch.setenv("PAISLURM_REQUIRE_CLUSTER", "1")
    with pytest.raises(ClusterError, match="the tests need all clusters"):
        held.run(["true"])


def test_an_ordinary_user_has_one_slurm_which_needs_no_packages_of_the_machine(
    done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "missing_packages", lambda: ["munge"])
    found = {}
    for unprivileged in (True, False):
        monkeypatch.setattr(held, "unprivileged", lambda known=unprivileged: known)
        found[unprivileged] = held.unfit.__wrapped__()
    assert found == {True: "", False: "three Slurms: needs packages of Debian 12: munge"}
    monkeypatch.setattr(held, "unprivileged", lambda: True)
    assert held.run(["true"]) == 0
    assert {words.split()[1].partition("-")[0] for words in done} == {"own"}
