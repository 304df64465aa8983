"""`site detect`: the profile that each Slurm is made to, and jobs that are compiled with it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from paislurm.translator.site.load import load_site
from tests.cluster.jobs import ROOT
from tests.contract.test_examples import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

PARTITIONS = {"watched": 2, "fragile": 2, "normal": 4, "small": 1, "pair": 2, "spot": 1, "urgent": 1}


@pytest.fixture
def profile(site: Site, folder: Path) -> Path:
    """The profile that is detected."""
    done = site.run("paislurm", "site", "detect", "--output", "site.yaml", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "wrote site.yaml\n")
    return folder / "site.yaml"


def test_the_cluster_is_as_it_was_made(site: Site, profile: Path) -> None:
    assert site.administrator
    found = load_site(profile.read_bytes(), file="site.yaml")
    assert {partition.name: partition.node_count for partition in found.partitions} == PARTITIONS
    assert {(shape.gpus, shape.gpu_type) for each in found.partitions for shape in each.shapes} == {(4, "v100")}
    assert {shape.memory_mib for each in found.partitions for shape in each.shapes} == {1000000}
    assert (found.name, found.default_partition) == ("paislurm", "normal")
    assert found.slurm_version.startswith(f"{site.slurm}.")
    assert found.kill_wait.total_seconds() == 5
    assert found.mpi
    assert (found.mpi[0] == "pmix") == (site.slurm != "26.05")
    assert "# Accounts of alice: extra, research." in profile.read_text()


def test_detecting_again_changes_nothing(site: Site, profile: Path) -> None:
    text = profile.read_text()
    done = site.run("paislurm", "site", "detect", "-o", str(profile))
    assert (done.returncode, done.stderr) == (0, f"{profile} says what Slurm says\n")
    assert profile.read_text() == text


def test_it_asks_seven_questions_at_most(site: Site, folder: Path) -> None:
    env = {"PAISLURM_HOME": str(site.own(folder / "home"))}
    assert site.run("paislurm", "site", "detect", env=env).returncode == 0
    bill = json.loads(site.run("paislurm", "monitor", "--bill", "--json", env=env).stdout)
    assert sum(each["calls"] for each in bill["programs"] if each["program"] != "monitor") <= 7


def test_examples_are_right_with_it(site: Site, profile: Path) -> None:
    for name in EXAMPLES:
        file = site.write(profile.parent, f"{name}.yaml", (ROOT / "examples" / f"{name}.yaml").read_text())
        done = site.run("paislurm", "check", "--site", str(profile), str(file))
        assert done.returncode == 0, done.stderr


def test_a_job_runs_with_it(site: Site, folder: Path, profile: Path) -> None:
    detected = replace(site, profile=profile.read_text())
    job = detected.submit(folder, "", file=ROOT / "examples" / "parameter-server.yaml")
    assert job.ended()[1]["outcome"] == "succeeded"


def test_a_submit_without_a_profile_asks_for_one(site: Site, folder: Path) -> None:
    home = folder / "home"
    env = {"PAISLURM_HOME": str(home), "PAISLURM_SITE": "", "XDG_CONFIG_HOME": str(folder / "config")}
    file = site.write(folder, "job.yaml", (ROOT / "examples" / "parameter-server.yaml").read_text())
    done = site.run("paislurm", "submit", "--wait", str(file), cwd=folder, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("there is no site profile: Slurm was asked for one") == 1
    (profile,) = (home / "detected-site").iterdir()
    assert load_site(profile.read_bytes(), file="site.yaml").default_partition
    again = site.run("paislurm", "plan", str(file), cwd=folder, env=env)
    assert "no site profile" not in again.stderr
