"""What one node says of itself, and what the profile makes of that."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from paislurm.translator.shipped import shipped_text
from paislurm.translator.site.containers import PROGRAMS
from paislurm.translator.site.detection.probe import Interface, Probe, probe
from paislurm.translator.site.detection.profile_text import profile_text
from paislurm.translator.site.load import load_site
from paislurm.translator.site.profile import Infiniband

from ...written_files import write_files, write_programs
from .answered import detected

SAID = """\
node n1
port mlx5_0 1 InfiniBand 4: ACTIVE
port mlx5_0 2 InfiniBand 1: DOWN
port mlx5_1 1 InfiniBand 1: DOWN
port mlx5_2 1 Ethernet 4: ACTIVE
roce mlx5_2 eth0
net eth0 1 up
net eth1 1 down
net ib0 32 up
net ib1 32 up
net lo 772 unknown
address eth0 10.0.0.5
address ib1 192.168.0.5
mount nfs4 /home
mount lustre /scratch
tmp xfs
runtime podman
runtime ch-run
resolves n1
device /dev/nvidia0
ports 32768 60999
memlock 65536
shared home
"""


def test_a_complete_probe_output_is_parsed() -> None:
    assert probe(SAID) == Probe(
        node="n1",
        adapters=("mlx5_0",),
        roce=(("mlx5_2", "eth0"),),
        inactive=("mlx5_1",),
        interfaces=(
            Interface(name="eth0", kind="1", state="up", address="10.0.0.5"),
            Interface(name="eth1", kind="1", state="down"),
            Interface(name="ib0", kind="32", state="up"),
            Interface(name="ib1", kind="32", state="up", address="192.168.0.5"),
            Interface(name="lo", kind="772", state="unknown"),
        ),
        mounts=(("nfs4", "/home"), ("lustre", "/scratch")),
        own_tmp="xfs",
        runtimes=("podman", "charliecloud"),
        resolves=True,
        vendor="nvidia",
        ephemeral=(32768, 60999),
        memlock_kib=65536,
        shares_home=True,
    )


@pytest.mark.parametrize("text", ["", "\n", "srun: nothing\n", "port\n"])
def test_an_empty_probe_output_is_accepted(text: str) -> None:
    assert probe(text) is None


@pytest.mark.parametrize(
    "line", ["port", "port a", "net", "net x", "address", "mount x", "runtime", "memlock", "ports"]
)
def test_truncated_probe_lines_are_ignored(line: str) -> None:
    found = probe(f"node n1\n{line}\n")
    assert found is not None
    assert (found.adapters, found.interfaces, found.mounts) == ((), (), ())


def test_the_profile_contains_the_probed_values() -> None:
    detection = detected(probe=SAID, gres="gpu:2")
    site = detection.site
    assert site.infiniband == Infiniband.of(adapters=("mlx5_0",), interface="ib1", ethernet="eth0", memlock_mib=64)
    assert (site.containers.installed, site.address.method) == (("podman", "charliecloud"), "getent")
    text = profile_text(detection)
    assert load_site(text, file="site.yaml") == site
    for words in (
        "# Adapters without an active port: mlx5_1.",
        "# Adapters of RoCE (InfiniBand over Ethernet): mlx5_2 (interface eth0); not among the adapters,",
        "# Network interfaces: eth0 (10.0.0.5), ib0 (up), ib1 (192.168.0.5).",
        "# Shared file systems, for storages: /home (nfs4), /scratch (lustre).",
        "It sees your home folder of this machine, and has its own /tmp, mounted as xfs.",
    ):
        assert words in text
    assert [gap.key for gap in detection.gaps] == ["storages"]


ROCE = """\
node n1
port mlx5_0 1 Ethernet 4: ACTIVE
port mlx5_1 1 Ethernet 4: ACTIVE
roce mlx5_0 ens1
roce mlx5_1 ens2
net ens1 1 up
net ens2 1 up
address ens2 10.1.0.5
"""
MANAGEMENT = "net eno1 1 up\naddress eno1 10.0.0.5\n"


@pytest.mark.parametrize(
    ("more", "interface", "ethernet"),
    [
        (MANAGEMENT, "ens2", "eno1"),
        # Jobs off InfiniBand would have no interface left.
        ("", None, None),
    ],
)
def test_adapters_on_ethernet_are_listed_as_roce(more: str, interface: str | None, ethernet: str | None) -> None:
    detection = detected(probe=ROCE + more)
    found = detection.site.infiniband
    assert found is not None
    assert (found.adapters, found.interface, found.ethernet) == (("mlx5_0", "mlx5_1"), interface, ethernet)
    wanted = "# Adapters of RoCE (InfiniBand over Ethernet): mlx5_0 (interface ens1), mlx5_1 (interface ens2)."
    assert wanted in profile_text(detection)
    assert "infiniband" not in {gap.key for gap in detection.gaps}


def test_a_node_with_few_features_is_detected() -> None:
    detection = detected(
        probe="node n2\nmemlock unlimited\ndevice /dev/kfd\nports 20000 60999\nshared tmp\n", gres="gpu:1"
    )
    site = detection.site
    assert (site.infiniband, site.containers.installed, site.address.method) == (None, (), "node-address")
    assert (site.gpus.vendor, site.ports.last) == ("amd", 19999)
    reasons = {gap.key: gap.reason for gap in detection.gaps}
    assert list(reasons) == ["infiniband", "containers.runtime", "PAISLURM_HOME", "storages"]
    assert reasons["PAISLURM_HOME"].startswith("n2 does not see a file")
    assert load_site(profile_text(detection), file="site.yaml") == site


def test_texts_of_a_node_stay_within_their_comments() -> None:
    evil = "node n1\nport a;b 1 InfiniBand 4: ACTIVE\nnet e\x1b[2J 1 up\nmount nfs /a\u2028x:\nruntime evil\n"
    detection = detected(probe=evil)
    text = profile_text(detection)
    assert "\x1b" not in text
    assert load_site(text, file="site.yaml") == detection.site


def test_a_failed_probe_becomes_a_gap() -> None:
    detection = detected(refused={"probe": "srun refuses: nodes are busy"})
    reasons = {gap.key: gap.reason for gap in detection.gaps}
    assert reasons["infiniband"] == "no node could be probed: srun refuses: nodes are busy"
    assert detection.site.containers.installed is None


def test_the_probe_script_runs_on_this_machine(tmp_path: Path) -> None:
    files = {
        "sys/infiniband/mlx5_0/ports/1/link_layer": "InfiniBand",
        "sys/infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
        "sys/infiniband/mlx5_1/ports/1/link_layer": "Ethernet",
        "sys/infiniband/mlx5_1/ports/1/state": "4: ACTIVE",
        "sys/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/0": "ens1",
        "devices/system/node/node0/cpulist": "0-3",
        "devices/system/node/node10/cpulist": "8-11",
        "devices/system/node/node2/cpulist": "4-7",
        "bus/pci/drivers/nvidia/0000:07:00.0/numa_node": "2",
        "bus/pci/drivers/nvidia/0000:81:00.0/numa_node": "0",
        "sys/drm/renderD128/device/numa_node": "10",
        "sys/infiniband/mlx5_0/device/numa_node": "10",
        "sys/net/ib0/type": "32",
        "sys/net/ib0/operstate": "up",
    }
    write_files(tmp_path, {name: f"{text}\n" for name, text in files.items()})
    write_programs(tmp_path / "bin", {"podman": ""})
    words = [str(tmp_path / "sys"), str(tmp_path / "bin/podman"), str(tmp_path / "none"), *PROGRAMS]
    env = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "SLURMD_NODENAME": "n7"}
    argv = ["bash", "-c", shipped_text("templates/probe.sh"), "probe", *words]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found = probe(done.stdout)
    assert found is not None
    assert (found.node, found.adapters, found.interface("32")) == ("n7", ("mlx5_0",), "ib0")
    assert (found.roce, "podman" in found.runtimes) == ((("mlx5_1", "ens1"),), True)
    assert (found.shares_home, found.shares_tmp, bool(found.ephemeral)) == (True, False, True)
