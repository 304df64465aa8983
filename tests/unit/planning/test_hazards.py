"""Faults of Slurm by version: who meets them, which layout is taken, and what the plan says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.app.document import plain
from paislurm.translator.planning.plan import Concern, Consequence
from paislurm.translator.planning.plan_text import plan_text
from paislurm.translator.planning.slurm.hazards import _table, hazards

from .compiled import compiled_for, role, site_of

if TYPE_CHECKING:
    from paislurm.translator.pipeline import Compiled
    from paislurm.translator.site.profile import Site

NODES = "{nodes: [{count: 8, cpus: 16, memoryMB: 100000, gpus: 4}]}"
SITE = site_of(f"partitions: {{a: {NODES}, b: {NODES}}}\ndefaultPartition: a\nmpi: [pmix, pmi2]\nlayout: het\n")
UNKNOWN = site_of("mpi: [pmix]\n")
BY_VERSION = {
    "20.11.8": {"pmix-names", "pmix-races", "pmix-plain-step", "sbcast", "limits"},
    "22.05.8": {
        "pmix-names",
        "pmix-races",
        "pmix-plain-step",
        "overlapping-partitions",
        "exit-codes",
        "sbcast",
        "limits",
    },
    "23.02.1": {"pmix-names", "pmix-races", "pmix-plain-step", "sbcast", "limits"},
    "23.02.2": {"pmix-races", "pmix-plain-step", "sbcast", "limits"},
    "23.11.10": {"pmix-races", "pmix-plain-step", "sbcast", "limits"},
    "24.05.3": {"pmix-races", "pmix-plain-step", "sbcast", "limits"},
    "24.05.4": {"pmix-plain-step", "sbcast", "limits"},
    "24.11.0": {"pmix-plain-step", "crash-at-submit", "exit-codes", "sbcast", "limits"},
    "24.11.3": {"pmix-plain-step", "crash-at-submit", "exit-codes", "sbcast", "limits"},
    "24.11.4": {"pmix-plain-step", "exit-codes", "sbcast", "limits"},
    "24.11.5": {"pmix-plain-step", "exit-codes", "sbcast", "limits"},
    "25.05.0": {"crash-by-older-srun", "tls", "limits"},
    "25.05.3": {"crash-by-older-srun", "limits"},
    "25.05.7": {"crash-by-older-srun", "limits"},
    "25.05.8": {"limits"},
    "25.11.0": {"crash-at-start", "crash-by-older-srun", "limits"},
    "25.11.6": {"crash-at-start", "limits"},
    "25.11.7": {"limits"},
    "26.05.0": set(),
    "26.05.5": set(),
}


def compiled(version: str, site: Site = SITE, gpu: int = 0, **slurm: Any) -> Compiled:
    roles = {"master": role(1, gpu, 4, 400), "worker": role(2, gpu, 4, 400)}
    return compiled_for(site.model_copy(update={"slurm_version": version}), roles, {"slurm": slurm})


def warned(found: Compiled) -> list[str]:
    return [fault.code for fault in found.warnings if fault.code.startswith("W43")]


@pytest.mark.parametrize("version", BY_VERSION)
def test_the_hazards_of_a_version_are_found(version: str) -> None:
    assert {hazard.name for hazard in hazards(version)} == BY_VERSION[version]


@pytest.mark.parametrize("version", ["", "new", "24.11"])
def test_an_unknown_version_has_no_hazards(version: str) -> None:
    assert hazards(version) == ()


def test_every_hazard_is_reachable_and_has_a_source() -> None:
    assert {hazard.name for hazard, _ in _table()} == set().union(*BY_VERSION.values())
    for hazard, ranges in _table():
        assert hazard.source
        assert hazard.concerns in get_args(Concern)
        assert hazard.consequence in get_args(Consequence)
        assert bool(hazard.advice) == (hazard.consequence == "warn")
        assert all(first < fixed for first, fixed in ranges)


def test_without_a_version_the_plan_does_not_change() -> None:
    found = compiled("")
    assert (found.plan.layout.kind, found.plan.slurm.hazards, warned(found)) == ("het", (), [])
    assert "slurm" not in plan_text(found.plan)


@pytest.mark.parametrize("version", ["24.11.0", "24.11.3", "25.11.0", "25.11.6"])
def test_the_shared_layout_avoids_components_that_crash_the_controller(version: str) -> None:
    found = compiled(version)
    assert (found.plan.layout.kind, warned(found)) == ("shared", [])
    assert f"with Slurm {version}, " in found.plan.layout.reason
    assert "slurmctld" in found.plan.layout.reason
    text = plan_text(found.plan)
    assert f"slurm       {version}\n" in text
    assert "; this layout avoids it (CHANGELOG, " in text
    values = plain(found.plan)
    assert values["slurm"]["slurm_version"] == version
    assert "avoid-het" in [hazard["consequence"] for hazard in values["slurm"]["hazards"]]


@pytest.mark.parametrize("version", ["24.11.4", "25.05.8", "25.11.7", "26.05.0", "26.05.5"])
def test_fixed_versions_use_components(version: str) -> None:
    found = compiled(version)
    assert (found.plan.layout.kind, warned(found)) == ("het", [])


def test_a_layout_requested_by_the_job_is_used_with_a_warning() -> None:
    found = compiled("24.11.3", layout="het")
    assert (found.plan.layout.kind, warned(found)) == ("het", ["W430"])
    assert compiled("24.11.3", layout="shared").plan.layout.kind == "shared"
    assert warned(compiled("24.11.3", layout="shared")) == []


@pytest.mark.parametrize(
    ("site", "slurm"), [(UNKNOWN, {}), (SITE, {"taskRoles": {"worker": {"partition": "b"}}})], ids=["shapes", "places"]
)
def test_a_job_that_cannot_share_an_allocation_gets_a_warning(site: Site, slurm: dict[str, Any]) -> None:
    found = compiled("24.11.3", site, **slurm)
    assert (found.plan.layout.kind, warned(found)) == ("het", ["W431"])


def test_pmix_ranks_use_the_shared_layout_if_components_hang() -> None:
    assert compiled("24.11.5").plan.layout.kind == "het"
    assert compiled("24.11.5", mpi={}).plan.layout.kind == "shared"
    assert compiled("24.11.5", taskRoles={"worker": {"mpi": {}}}).plan.layout.kind == "shared"
    assert compiled("25.05.8", mpi={}).plan.layout.kind == "het"


def test_ranks_with_another_plugin_use_components() -> None:
    assert compiled("24.11.5", taskRoles={"worker": {"mpi": {"plugin": "pmi2"}}}).plan.layout.kind == "het"


@pytest.mark.parametrize("version", ["22.05.8", "24.11.3", "25.11.6"])
def test_ranks_impossible_in_the_shared_layout_use_components(version: str) -> None:
    found = compiled(version, gpu=2, mpi={"ranksPerInstance": 2})
    assert found.plan.layout.kind == "het"
    assert "W431" in warned(found)


def test_a_warning_asks_for_one_slurm_version_on_all_nodes() -> None:
    found = compiled("25.05.3")
    assert (found.plan.layout.kind, warned(found)) == ("het", ["W432"])
    assert "srun of Slurm 24.11 or older" in found.warnings[-1].message
    assert "one version on all nodes" in found.warnings[-1].hint


def test_components_in_several_partitions_get_a_warning_on_22_05() -> None:
    where = {"worker": {"partition": "b"}}
    assert warned(compiled("22.05.8", taskRoles=where)) == ["W432"]
    assert warned(compiled("24.11.5", taskRoles=where)) == []
    assert warned(compiled("22.05.8")) == []


def test_hazards_without_a_consequence_are_listed_without_a_warning() -> None:
    found = compiled("22.05.8")
    assert [hazard.name for hazard in found.plan.slurm.hazards] == ["sbcast", "limits", "exit-codes"]
    assert "Slurm 22.05.8: sacct shows wrong exit codes above 127" in plan_text(found.plan)
    assert warned(found) == []


@given(st.sampled_from(sorted(BY_VERSION)), st.sampled_from((None, "het", "shared")))
def test_a_version_changes_only_the_layout(version: str, layout: str | None) -> None:
    slurm_options = {} if layout is None else {"layout": layout}
    found = compiled(version, **slurm_options)
    assert found.script == compiled("", layout=found.plan.layout.kind).script
    assert layout in (None, found.plan.layout.kind)
