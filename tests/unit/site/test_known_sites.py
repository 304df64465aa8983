"""Versions of Slurm, container runtimes, and the example sites."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.errors import SiteError
from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.containers import BASH_PARTS, CONTAINER_RUNTIMES, RUNTIME_NAMES
from paislurm.translator.site.layers import locks_of
from paislurm.translator.site.load import load_layers, load_site, read_layer
from paislurm.translator.site.slurm_version import SlurmVersion, slurm_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("slurm 24.11.5\n", "24.11.5"),
        ("slurm-wlm 22.05.8\n", "22.05.8"),
        ("slurm 26.05.5-Debian", "26.05.5"),
        ("slurm 21.08.8-2", "21.08.8"),
        ("slurm 23.02.7-1.el9", "23.02.7"),
        ("25.05.0-0rc1", "25.05.0rc"),
        ("24.11.0rc2", "24.11.0rc"),
        ("25.05.10", "25.05.10"),
    ],
)
def test_versions_are_found(text: str, version: str) -> None:
    assert str(slurm_version(text)) == version
    assert slurm_version(version) == slurm_version(text)


@pytest.mark.parametrize(
    "text", ["", "slurm", "slurm 24.11", "slurm 2.6.9", "20240501", "v124.11.5", "24.11.1234", "2٤.11.5"]
)
def test_incomplete_versions_are_ignored(text: str) -> None:
    assert slurm_version(text) is None


def test_versions_are_ordered_numerically_with_candidates_first() -> None:
    ordered = ["24.11.9", "24.11.10", "25.05.0rc1", "25.05.0", "25.05.1"]
    found = [slurm_version(text) for text in ordered]
    assert all(a is not None and b is not None and a < b for a, b in pairwise(found))


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    found = slurm_version(text)
    assert found is None or slurm_version(str(found)) == found


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 999), st.sampled_from(("slurm ", "slurm-wlm ", "")))
def test_any_version_is_found(year: int, month: int, micro: int, name: str) -> None:
    assert slurm_version(f"{name}{year:02}.{month:02}.{micro}-Debian\n") == SlurmVersion(year, month, micro)


def test_the_profile_can_set_the_version() -> None:
    assert load_site("slurmVersion: slurm-wlm 22.05.8", file="site.yaml").slurm_version == "22.05.8"
    assert load_site("name: x", file="site.yaml").slurm_version == ""


@pytest.mark.parametrize("value", ["24.11", "new", "[24.11.5]", "null"])
def test_an_incomplete_version_in_the_profile_is_refused(value: str) -> None:
    with pytest.raises(SiteError, match="E453: expected a version of Slurm with three numbers"):
        load_site(f"slurmVersion: {value}", file="site.yaml")


EXAMPLES = Path(__file__).parents[3] / "examples"
PROFILES = sorted((EXAMPLES / "sites").glob("*.yaml"))
JOBS = sorted(path for path in EXAMPLES.glob("*.yaml") if path.name != "site.yaml")
RUNTIMES = {"cloud": "podman", "centre-apptainer": "apptainer", "centre-pyxis": "pyxis"}
OWN = "storages: {mine: {path: /scratch/mine}}\n"


def test_each_kind_of_site_has_an_example_profile() -> None:
    assert [path.stem for path in PROFILES] == ["centre-apptainer", "centre-pyxis", "cloud", "laptop", "small-lab"]
    assert len(JOBS) >= 4


@pytest.mark.parametrize("profile", PROFILES, ids=lambda path: path.stem)
def test_each_example_profile_is_valid(profile: Path) -> None:
    site = load_site(profile.read_bytes(), file=str(profile))
    assert site.default_partition in site.partitions
    assert site.containers.runtime == RUNTIMES.get(profile.stem, "none")
    assert all(each.node_count for each in site.partitions.values())


@pytest.mark.parametrize("profile", PROFILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("job", JOBS, ids=lambda path: path.stem)
def test_the_example_jobs_compile_for_each_profile(profile: Path, job: Path) -> None:
    site = load_site(profile.read_bytes(), file=str(profile))
    script = compile_job(job.read_bytes(), file=job.name, site=site).script
    assert f"#SBATCH --partition={site.default_partition}\n" in script
    assert ("PSL_RUNS_WITH=" in script) == (profile.stem in RUNTIMES)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda path: path.stem)
def test_a_user_profile_can_extend_an_example(profile: Path) -> None:
    lower = read_layer(profile.read_bytes(), file=str(profile))
    site = load_layers([lower, read_layer(OWN, file="own.yaml")])
    assert site.storages["mine"].path == "/scratch/mine"
    assert site.locked == locks_of(lower)


ROOT = Path(__file__).parents[3]
OF_ALL = {"containers", "container_side", "own_part", "images", "cache", "registry"}
"""Parts of the script that all container runtimes have in common."""


@pytest.mark.parametrize("folder", ["containers", "images"])
def test_every_runtime_has_a_bash_template(folder: str) -> None:
    found = {file.stem for file in (ROOT / "templates" / "runtime" / folder).glob("*.sh")}
    assert found - OF_ALL == set(BASH_PARTS)


def test_every_runtime_is_documented() -> None:
    page = (ROOT / "docs/how-to/jobs/containers.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^## Runtimes\n\n(.*?)\n\n", page, re.MULTILINE | re.DOTALL)
    documented = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert documented == set(CONTAINER_RUNTIMES)


@pytest.mark.parametrize("name", RUNTIME_NAMES)
def test_a_profile_can_name_every_runtime(name: str) -> None:
    assert load_site(f"containers: {{runtime: {name}}}", file="site.yaml").containers.runtime == name


@pytest.mark.parametrize(
    ("name", "path", "reads"),
    [
        ("charliecloud", "/images/one", True),
        ("charliecloud", "/images/one.sif", False),
        ("apptainer", "/images/one.sif", True),
        ("singularity", "/images/one.sqsh", True),
        ("pyxis", "/images/one.sqsh", True),
        ("enroot", "/images/one", False),
        ("enroot", "/images/one.sif", False),
    ],
)
def test_image_formats_of_each_runtime_are_known(name: str, path: str, *, reads: bool) -> None:
    assert CONTAINER_RUNTIMES[name].reads(path) is reads
