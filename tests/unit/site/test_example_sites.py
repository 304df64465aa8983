"""The site profiles of `examples/sites`: each is valid by itself, and jobs of the examples compile for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.layers import locks_of
from paislurm.translator.site.load import load_layers, load_site, read_layer

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
