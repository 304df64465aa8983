"""Jobs that the profile sends to another cluster: what the script asks for, and how such a job is called."""

from __future__ import annotations

import pytest

from paislurm.translator.errors import PaislurmError
from paislurm.translator.monitor.attempt import new_intent
from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.load import load_site
from paislurm.translator.state.parsed import is_job_number
from tests.cluster.jobs import job_text, role

TWO = job_text("two", role("a", 1, "true") + role("b", 1, "true"), "{slurm: {layout: het}}")


@pytest.mark.parametrize(("profile", "named"), [("cluster: far\n", True), ("name: near\n", False)])
def test_the_first_component_alone_names_the_cluster(profile: str, named: bool) -> None:
    script = compile_job(TWO, file="job.yaml", site=load_site(profile, file="site.yaml")).script
    first, *others = script.split("#SBATCH hetjob")
    assert [each.count("--clusters") for each in (first, *others)] == [int(named), 0]
    assert ("#SBATCH --clusters=far\n" in first, "PSL_CLUSTER='far'" in script) == (named, named)


@pytest.mark.parametrize("name", ["a.b", "a b", "a;b", "7/8"])
def test_invalid_cluster_names_are_refused(name: str) -> None:
    with pytest.raises(PaislurmError, match="the name of a cluster"):
        load_site(f"cluster: '{name}'\n", file="site.yaml")


def test_a_retry_is_queried_on_the_cluster_of_the_first_attempt() -> None:
    first = new_intent(0, 1, cluster="far")
    assert first.tag.endswith("@far")
    assert new_intent(2, 1, before=first.tag).tag == f"{first.tag}.2"


@pytest.mark.parametrize(
    ("word", "is_one"),
    [("7", True), ("7;far", True), ("7;", False), ("7;a.b", False), (";far", False), ("x;far", False)],
)
def test_the_job_id_contains_the_cluster(word: str, is_one: bool) -> None:
    assert is_job_number(word) == is_one
