"""The cluster itself: that it behaves like the real thing, and comes back from what is done to it."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster import boot
from tests.cluster.daemons import daemons
from tests.cluster.instance import HOSTS, ClusterError, default_instance
from tests.cluster.processes import recorded_pid, wait_until

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster


@pytest.mark.exclusive
def test_up_leaves_a_healthy_cluster_alone(cluster: Cluster) -> None:
    def pids() -> list[int | None]:
        return [recorded_pid(cluster.instance.pidfile(name)) for name in (*HOSTS, *daemons(cluster.instance))]

    # A node that is slow to answer is not well for a moment, and a boot would take the jobs of other tests with it.
    wait_until(lambda: boot.is_well(cluster.instance), "the cluster is not well")
    before = pids()
    assert all(before)
    assert cluster.up() is False
    assert pids() == before


def test_host_system_files_are_unchanged(cluster: Cluster) -> None:
    assert str(cluster.instance.folder) not in Path("/etc/passwd").read_text()
    assert not Path("/etc/slurm/slurm.conf").exists()
    assert not Path("/run/munge/munge.socket.2").exists()
    assert cluster.instance.tag not in Path("/proc/mounts").read_text()
    assert stat.S_IMODE((cluster.instance.etc / "slurm" / "slurmdbd.conf").stat().st_mode) == 0o600


def test_cluster_folder_under_tmp_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAISLURM_CLUSTER_DIR", "/tmp/somewhere")
    with pytest.raises(ClusterError, match="choose a folder elsewhere"):
        default_instance()


@pytest.mark.exclusive
def test_a_slurmd_that_died_is_started_again(cluster: Cluster) -> None:
    cluster.stop_daemon("slurmd-n1", crash=True)
    cluster.revive(("n1", "n2"))
    wait_until(lambda: cluster.node_states()["n1"] in boot.SERVING, "n1 does not come back")
    assert cluster.run(["srun", "--nodelist=n1", "hostname"], user="alice").stdout == "n1\n"
