"""Faults of Slurm by version: who meets them, which layout is taken, and what the plan says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.app.json_documents import plain
from paislurm.translator.pipeline import Compiled
from paislurm.translator.planning.job_plan import Concern, Consequence
from paislurm.translator.planning.plan_text import plan_text
from paislurm.translator.planning.slurm.hazards import _table, hazards
from paislurm.translator.site.profile import Site
from tests.golden.remake import CASES

from .compiled import compiled_for, role, site_of

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
    "25.05.9": {"limits", "node-lists-of-steps"},
    "25.11.0": {"crash-at-start", "crash-by-older-srun", "limits"},
    "25.11.6": {"crash-at-start", "limits"},
    "25.11.7": {"limits"},
    "25.11.8": {"limits", "node-lists-of-steps"},
    "26.05.0": set(),
    "26.05.4": {"node-lists-of-steps"},
    "26.05.5": {"node-lists-of-steps"},
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
    reason, text = found.plan.layout.reason, plan_text(found.plan)
    assert [f"with Slurm {version}, " in reason, "slurmctld" in reason] == [True, True]
    assert [f"slurm       {version}\n" in text, "; this layout avoids it (CHANGELOG, " in text] == [True, True]
    slurm = plain(found.plan)["slurm"]
    assert slurm["slurm_version"] == version
    assert "avoid-het" in [hazard["consequence"] for hazard in slurm["hazards"]]


IN_TWO_PARTITIONS = {"taskRoles": {"worker": {"partition": "b"}}}
FIXED = ("24.11.4", "25.05.8", "25.11.7", "26.05.0", "26.05.5")


@pytest.mark.parametrize(
    ("version", "site", "slurm", "layout", "warnings"),
    [
        *((version, SITE, {}, "het", []) for version in FIXED),
        # The job requests a layout.
        ("24.11.3", SITE, {"layout": "het"}, "het", ["W430"]),
        ("24.11.3", SITE, {"layout": "shared"}, "shared", []),
        # It cannot share an allocation.
        ("24.11.3", UNKNOWN, {}, "het", ["W431"]),
        ("24.11.3", SITE, IN_TWO_PARTITIONS, "het", ["W431"]),
        # Ranks of PMIx hang in components, those of another plugin do not.
        ("24.11.5", SITE, {}, "het", []),
        ("24.11.5", SITE, {"mpi": {}}, "shared", []),
        ("24.11.5", SITE, {"taskRoles": {"worker": {"mpi": {}}}}, "shared", []),
        ("25.05.8", SITE, {"mpi": {}}, "het", []),
        ("24.11.5", SITE, {"taskRoles": {"worker": {"mpi": {"plugin": "pmi2"}}}}, "het", []),
        # Components in several partitions.
        ("22.05.8", SITE, IN_TWO_PARTITIONS, "het", ["W432"]),
        ("24.11.5", SITE, IN_TWO_PARTITIONS, "het", []),
        ("22.05.8", SITE, {}, "het", []),
    ],
)
def test_the_layout_avoids_a_hazard_or_there_is_a_warning(
    version: str, site: Site, slurm: dict[str, Any], layout: str, warnings: list[str]
) -> None:
    found = compiled(version, site, **slurm)
    assert (found.plan.layout.kind, warned(found)) == (layout, warnings)


@pytest.mark.parametrize("version", ["22.05.8", "24.11.3", "25.11.6"])
def test_ranks_impossible_in_the_shared_layout_use_components(version: str) -> None:
    found = compiled(version, gpu=2, mpi={"ranksPerInstance": 2})
    assert found.plan.layout.kind == "het"
    assert "W431" in warned(found)


def test_a_warning_asks_for_one_slurm_version_on_all_nodes() -> None:
    found = compiled("25.05.3")
    assert (found.plan.layout.kind, warned(found)) == ("het", ["W432"])
    last = found.warnings[-1]
    assert ("srun of Slurm 24.11 or older" in last.message, "one version on all nodes" in last.hint) == (True, True)


def test_hazards_without_a_consequence_are_listed_without_a_warning() -> None:
    found = compiled("22.05.8")
    assert [hazard.name for hazard in found.plan.slurm.hazards] == ["sbcast", "limits", "exit-codes"]
    assert "Slurm 22.05.8: sacct shows wrong exit codes above 127" in plan_text(found.plan)
    assert warned(found) == []


@pytest.mark.parametrize("script", [case.folder / "job.sbatch" for case in CASES], ids=lambda path: path.parent.name)
def test_every_step_with_a_host_file_states_its_tasks_and_no_nodes(script: Path) -> None:
    """The stand-in of srun compares their number with the lines of the file, in each run of the local backend."""
    (*_, head) = re.findall(r"(?s)\A.*?(?=^# -+ paislurm runtime)|\A.*", script.read_text(), re.MULTILINE)[:1]
    steps = re.findall(
        r"(?s)(?:SLURM_HOSTFILE=\S+ exec srun|exec srun --het-group).*?--task ", head.replace("\\\n", " ")
    )
    assert steps
    for words in (part.split() for step in steps for part in step.split(" : ")):
        assert "--distribution=arbitrary" in words
        assert sum(word.startswith("--ntasks=") for word in words) == 1
        assert not any(word.startswith(("--nodes", "-N")) for word in words)


@given(st.sampled_from(sorted(BY_VERSION)), st.sampled_from((None, "het", "shared")))
def test_a_version_changes_only_the_layout(version: str, layout: str | None) -> None:
    slurm_options = {} if layout is None else {"layout": layout}
    found = compiled(version, **slurm_options)
    assert found.script == compiled("", layout=found.plan.layout.kind).script
    assert layout in (None, found.plan.layout.kind)
