"""`site detect`: the profile that each Slurm is made to, and jobs that are compiled with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from paislurm.translator.site.load import load_site
from tests.cluster.instance import ALICE, unprivileged
from tests.cluster.jobs import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

PARTITIONS = {"watched": 2, "fragile": 2, "spared": 3, "normal": 4, "small": 1, "pair": 2, "spot": 1, "urgent": 1}


@pytest.fixture
def profile(site: Site, folder: Path) -> Path:
    """The profile that is detected."""
    done = site.run("paislurm", "site", "detect", "--output", "site.yaml", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "wrote site.yaml\n")
    return folder / "site.yaml"


def test_detected_profile_matches_the_cluster(site: Site, profile: Path) -> None:
    assert site.administrator
    found = load_site(profile.read_bytes(), file="site.yaml")
    assert {partition.name: partition.node_count for partition in found.partitions.values()} == PARTITIONS
    assert {(shape.gpus, shape.gpu_type) for each in found.partitions.values() for shape in each.nodes} == {(4, "v100")}
    assert {shape.memory_mib for each in found.partitions.values() for shape in each.nodes} == {1000000}
    assert (found.name, found.default_partition) == ("paislurm", "normal")
    assert found.slurm_version == site.slurm
    assert found.time.kill_wait.total_seconds() == 5
    assert found.mpi
    assert (found.mpi[0] == "pmix") == ("pmix" in site.run("srun", "--mpi=list").stdout.split())
    assert f"# Accounts of {ALICE}: extra, research." in profile.read_text()


def test_detecting_again_changes_nothing(site: Site, profile: Path) -> None:
    text = profile.read_text()
    done = site.run("paislurm", "site", "detect", "-o", str(profile))
    assert (done.returncode, done.stderr) == (0, f"{profile} agrees with Slurm's configuration\n")
    assert profile.read_text() == text


def test_submit_without_a_profile_detects_one(site: Site, folder: Path) -> None:
    home = folder / "home"
    env = {"PAISLURM_HOME": str(home), "PAISLURM_SITE": "", "XDG_CONFIG_HOME": str(folder / "config")}
    file = site.write(folder, "job.yaml", (ROOT / "examples" / "parameter-server.yaml").read_text())
    done = site.run("paislurm", "submit", "--wait", str(file), cwd=folder, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("no site profile found: paislurm detects one from Slurm") == 1
    (profile,) = (home / "detected-site").iterdir()
    assert load_site(profile.read_bytes(), file="site.yaml").default_partition
    again = site.run("paislurm", "plan", str(file), cwd=folder, env=env)
    assert "no site profile found" not in again.stderr


def test_probe_detects_infiniband_of_a_node(site: Site, folder: Path) -> None:
    """What nodes have in place of /sys/class is a folder that all hosts see."""
    assert site.administrator
    sysfs = folder / "sys"
    site.run("mkdir", "-p", str(sysfs / "infiniband/mlx5_0/ports/1"), str(sysfs / "net/ib0"))
    for name, text in {
        "infiniband/mlx5_0/ports/1/link_layer": "InfiniBand",
        "infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
        "net/ib0/type": "32",
        "net/ib0/operstate": "up",
    }.items():
        site.write(sysfs, name, f"{text}\n")
    argv = ["paislurm", "site", "detect", "--probe", "--partition", "normal", "--account", "extra"]
    done = site.run(*argv, "--sysfs", str(sysfs), "--output", "probed.yaml", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "wrote probed.yaml\n")
    text = (folder / "probed.yaml").read_text()
    found = load_site(text, file="probed.yaml")
    assert found.infiniband
    assert (found.infiniband.adapters, found.infiniband.interface) == (("mlx5_0",), "ib0")
    assert found.infiniband.memlock_mib
    assert found.containers.installed is not None
    assert found.address.method == "getent"
    if not unprivileged():
        assert re.search(r"It sees your home folder of this machine, and has its own /tmp, mounted as \w+\.", text)
    assert re.search(r"^# Ephemeral ports of node n\d: 32768 to 60999.$", text, re.MULTILINE)
    assert "no node was probed" not in text
    assert not [path for path in site.folder.iterdir() if path.name.startswith(".paislurm-probe")]
    assert site.run("paislurm", "site", "check", "--site", "probed.yaml", cwd=folder).returncode == 0


def test_failed_probe_is_noted_in_the_profile(site: Site, folder: Path) -> None:
    assert site.administrator
    done = site.run("paislurm", "site", "detect", "--probe", "--partition", "nope", cwd=folder)
    assert done.returncode == 0
    assert "# - infiniband: no node could be probed: srun refuses" in done.stdout
