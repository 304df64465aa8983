"""Faults of Slurm by version: who meets them, which layout is taken, and what the plan says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.pipeline import Compiled, compile_job
from paislurm.translator.planning.plan import Concern, Consequence
from paislurm.translator.planning.plan_text import plan_dict, plan_text
from paislurm.translator.planning.slurm.hazards import _table, hazards
from paislurm.translator.site.load import load_site

if TYPE_CHECKING:
    from paislurm.translator.site.profile import Site

NODES = "{nodes: [{count: 8, cpus: 16, memoryMB: 100000, gpus: 4}]}"
SITE = load_site(f"partitions: {{a: {NODES}, b: {NODES}}}\ndefaultPartition: a\nmpi: [pmix, pmi2]\n", file="site.yaml")
UNKNOWN = load_site("mpi: [pmix]\n", file="site.yaml")
BY_VERSION = {
    "20.11.8": {"pmix-names", "pmix-races", "pmix-plain-step"},
    "22.05.8": {"pmix-names", "pmix-races", "pmix-plain-step", "overlapping-partitions", "exit-codes"},
    "23.02.1": {"pmix-names", "pmix-races", "pmix-plain-step"},
    "23.02.2": {"pmix-races", "pmix-plain-step"},
    "23.11.10": {"pmix-races", "pmix-plain-step"},
    "24.05.3": {"pmix-races", "pmix-plain-step"},
    "24.05.4": {"pmix-plain-step"},
    "24.11.0": {"pmix-plain-step", "crash-at-submit", "exit-codes"},
    "24.11.3": {"pmix-plain-step", "crash-at-submit", "exit-codes"},
    "24.11.4": {"pmix-plain-step", "exit-codes"},
    "24.11.5": {"pmix-plain-step", "exit-codes"},
    "25.05.0": {"crash-by-older-srun"},
    "25.05.7": {"crash-by-older-srun"},
    "25.05.8": set(),
    "25.11.0": {"crash-at-start", "crash-by-older-srun"},
    "25.11.6": {"crash-at-start"},
    "25.11.7": set(),
    "26.05.0": set(),
    "26.05.5": set(),
}


def compiled(version: str, site: Site = SITE, gpu: int = 0, **slurm: Any) -> Compiled:
    resources = {"cpu": 4, "memoryMB": 400, "gpu": gpu}
    role = {"dockerImage": "image", "resourcePerInstance": resources, "commands": ["true"]}
    job = {
        "protocolVersion": 2,
        "name": "demo",
        "type": "job",
        "prerequisites": [{"name": "image", "type": "dockerimage", "uri": "/image"}],
        "taskRoles": {"master": role | {"instances": 1}, "worker": role | {"instances": 2}},
        "extras": {"slurm": slurm},
    }
    return compile_job(yaml.safe_dump(job, sort_keys=False), site=site.model_copy(update={"slurm_version": version}))


def warned(found: Compiled) -> list[str]:
    return [fault.code for fault in found.warnings if fault.code.startswith("W43")]


@pytest.mark.parametrize("version", BY_VERSION)
def test_the_table_answers_for_a_version(version: str) -> None:
    assert {hazard.name for hazard in hazards(version)} == BY_VERSION[version]


@pytest.mark.parametrize("version", ["", "new", "24.11"])
def test_of_an_unknown_version_nothing_is_assumed(version: str) -> None:
    assert hazards(version) == ()


def test_every_row_can_be_met_and_says_where_it_is_from() -> None:
    assert {hazard.name for hazard, _ in _table()} == set().union(*BY_VERSION.values())
    for hazard, ranges in _table():
        assert hazard.source
        assert hazard.concerns in get_args(Concern)
        assert hazard.consequence in get_args(Consequence)
        assert bool(hazard.advice) == (hazard.consequence == "warn")
        assert all(first < fixed for first, fixed in ranges)


def test_without_a_version_everything_is_as_it_was() -> None:
    found = compiled("")
    assert (found.plan.layout.kind, found.plan.slurm.hazards, warned(found)) == ("het", (), [])
    assert "slurm" not in plan_text(found.plan)


@pytest.mark.parametrize("version", ["24.11.0", "24.11.3", "25.11.0", "25.11.6"])
def test_where_components_crash_the_controller_all_roles_share_an_allocation(version: str) -> None:
    found = compiled(version)
    assert (found.plan.layout.kind, warned(found)) == ("shared", [])
    assert f"with Slurm {version}, " in found.plan.layout.reason
    assert "slurmctld" in found.plan.layout.reason
    text = plan_text(found.plan)
    assert f"slurm       {version}\n" in text
    assert "; this layout avoids it (CHANGELOG, " in text
    values = plan_dict(found.plan)
    assert values["slurm"]["slurm_version"] == version
    assert "avoid-het" in [hazard["consequence"] for hazard in values["slurm"]["hazards"]]


@pytest.mark.parametrize("version", ["24.11.4", "25.05.8", "25.11.7", "26.05.0", "26.05.5"])
def test_where_that_is_mended_components_are_preferred(version: str) -> None:
    found = compiled(version)
    assert (found.plan.layout.kind, warned(found)) == ("het", [])


def test_what_the_job_asks_for_it_gets_with_a_warning() -> None:
    found = compiled("24.11.3", layout="het")
    assert (found.plan.layout.kind, warned(found)) == ("het", ["W430"])
    assert compiled("24.11.3", layout="shared").plan.layout.kind == "shared"
    assert warned(compiled("24.11.3", layout="shared")) == []


@pytest.mark.parametrize(
    ("site", "slurm"), [(UNKNOWN, {}), (SITE, {"taskRoles": {"worker": {"partition": "b"}}})], ids=["shapes", "places"]
)
def test_a_job_that_cannot_share_an_allocation_is_warned(site: Site, slurm: dict[str, Any]) -> None:
    found = compiled("24.11.3", site, **slurm)
    assert (found.plan.layout.kind, warned(found)) == ("het", ["W431"])


def test_ranks_by_pmix_share_an_allocation_where_components_hang() -> None:
    assert compiled("24.11.5").plan.layout.kind == "het"
    assert compiled("24.11.5", mpi={}).plan.layout.kind == "shared"
    assert compiled("24.11.5", taskRoles={"worker": {"mpi": {}}}).plan.layout.kind == "shared"
    assert compiled("25.05.8", mpi={}).plan.layout.kind == "het"


def test_ranks_by_another_plugin_do_not() -> None:
    assert compiled("24.11.5", taskRoles={"worker": {"mpi": {"plugin": "pmi2"}}}).plan.layout.kind == "het"


@pytest.mark.parametrize("version", ["22.05.8", "24.11.3", "25.11.6"])
def test_ranks_that_the_shared_layout_cannot_have_stay_in_components(version: str) -> None:
    found = compiled(version, gpu=2, mpi={"ranksPerInstance": 2})
    assert found.plan.layout.kind == "het"
    assert "W431" in warned(found)


def test_one_version_on_all_nodes_is_asked_for() -> None:
    found = compiled("25.05.3")
    assert (found.plan.layout.kind, warned(found)) == ("het", ["W432"])
    assert "srun of Slurm 24.11 or older" in found.warnings[-1].message
    assert "one version on all nodes" in found.warnings[-1].hint


def test_components_in_several_partitions_are_warned_of_on_22_05() -> None:
    where = {"worker": {"partition": "b"}}
    assert warned(compiled("22.05.8", taskRoles=where)) == ["W432"]
    assert warned(compiled("24.11.5", taskRoles=where)) == []
    assert warned(compiled("22.05.8")) == []


def test_exit_codes_of_sacct_are_told_and_warned_of_by_nobody() -> None:
    found = compiled("22.05.8")
    assert [hazard.name for hazard in found.plan.slurm.hazards] == ["exit-codes"]
    assert "Slurm 22.05.8: sacct shows exit codes of 128 and more wrong" in plan_text(found.plan)


@given(st.sampled_from(sorted(BY_VERSION)), st.sampled_from((None, "het", "shared")))
def test_no_version_changes_more_than_the_layout(version: str, layout: str | None) -> None:
    slurm_options = {} if layout is None else {"layout": layout}
    found = compiled(version, **slurm_options)
    assert found.script == compiled("", layout=found.plan.layout.kind).script
    assert layout in (None, found.plan.layout.kind)
