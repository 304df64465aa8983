"""Native MPI launch: which ranks there are, and what cannot be."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from paislurm.translator.errors import PlanError
from paislurm.translator.pipeline import Compiled, compile_job
from paislurm.translator.site.profile import Containers, Site

from ..protocol.jobs import JOB, changed
from .compiled import role, site_of

NODES = "partitions: {batch: {nodes: [{count: 4, cpus: 16, memoryMB: 100000, gpus: 4}]}}\ndefaultPartition: batch\n"
SITE = site_of(NODES + "mpi: [pmix, pmi2]\n")


def compiled(
    slurm: dict[str, Any], site: Site = SITE, *, gang: bool = True, image: str = "/image", **resources: dict[str, int]
) -> Compiled:
    roles = {name: role(count, 0, 4, 400) for name, count in (("master", 1), ("worker", 2), ("other", 1))}
    for name, more in resources.items():
        roles[name]["resourcePerInstance"] |= more
    job = changed(changed(JOB, "taskRoles", roles), "prerequisites/0/uri", image)
    job["extras"] = {"slurm": slurm, "gangAllocation": gang}
    return compile_job(yaml.safe_dump(job, sort_keys=False), site=site)


def ranks(found: Compiled) -> list[tuple[int, str, tuple[int, ...]]]:
    return [
        (role.ranks, role.mpi_world.plugin if role.mpi_world else "", role.mpi_world.roles if role.mpi_world else ())
        for role in found.plan.roles
    ]


def refusal(slurm: dict[str, Any], site: Site = SITE, **more: Any) -> tuple[str, str]:
    with pytest.raises(PlanError) as caught:
        compiled(slurm, site, **more)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code, diagnostic.message


def test_without_mpi_settings_there_are_no_ranks() -> None:
    assert ranks(compiled({})) == [(0, "", ())] * 3


def test_all_roles_form_one_mpi_world_unless_roles_are_named() -> None:
    assert ranks(compiled({"mpi": {}})) == [(1, "pmix", (0, 1, 2))] * 3
    some = {"mpi": {"plugin": "pmix", "roles": ["worker", "master"], "ranksPerInstance": 2}}
    assert ranks(compiled(some)) == [(2, "pmix", (0, 1)), (2, "pmix", (0, 1)), (0, "", ())]


def test_mpi_settings_of_a_role_override_those_of_the_job() -> None:
    own = {"taskRoles": {"worker": {"mpi": {"plugin": "pmi2", "ranksPerInstance": 4}}}}
    assert ranks(compiled(own)) == [(0, "", ()), (4, "pmi2", (1,)), (0, "", ())]
    both = {"mpi": {"roles": ["master", "worker"], "ranksPerInstance": 2}} | {
        "taskRoles": {"worker": {"mpi": {"ranksPerInstance": 3}}, "other": {"mpi": {"plugin": "pmi2"}}}
    }
    assert ranks(compiled(both)) == [(2, "pmix", (0, 1)), (3, "pmix", (0, 1)), (1, "pmi2", (2,))]


def test_ranks_share_the_cpus_and_see_all_gpus() -> None:
    found = compiled({"mpi": {"ranksPerInstance": 3}}, worker={"gpu": 2})
    assert [dict(role.step_options) for role in found.plan.roles] == [
        {"cpus-per-task": "1", "gres": "none"},
        {"cpus-per-task": "1", "gres": "gpu:4"},
        {"cpus-per-task": "1", "gres": "none"},
    ]


def test_without_a_plugin_list_the_mpi_plugin_gets_a_warning() -> None:
    found = compiled({"mpi": {}}, site_of(NODES + "layout: het\n"))
    assert [diagnostic.code for diagnostic in found.warnings if diagnostic.code not in ("W402", "W202")] == [
        "W414",
        "W413",
    ]
    assert ranks(found)[0][1] == "pmix"


@pytest.mark.parametrize("cpus", [4, 8])
def test_no_hint_offers_a_layout_in_which_srun_cannot_start_the_ranks(cpus: int) -> None:
    found = compiled({"mpi": {}, "layout": "het"}, worker={"cpu": cpus})
    (hint,) = [diagnostic.hint for diagnostic in found.warnings if diagnostic.code == "W414"]
    other = found.plan.layout.other
    assert other is not None
    assert (other.why_not is None) == hint.startswith("write `layout: shared`") == (cpus == 4)


@pytest.mark.parametrize(
    ("slurm", "code", "text"),
    [
        ({"mpi": {"plugin": "pmx"}}, "E416", "no MPI plugin 'pmx'; it has pmix, pmi2"),
        ({"mpi": {"roles": ["mastr"]}}, "E417", "no role 'mastr'"),
        ({"mpi": {"ranksPerInstance": 5, "roles": ["master"]}}, "E417", "its task has 4"),
        ({"layout": "shared", "mpi": {"ranksPerInstance": 5, "roles": ["master"]}}, "E417", "its task has 4"),
        ({"layout": "het", "mpi": {"plugin": "pmi2"}}, "E417", "pmi2 hangs"),
        (
            {"mpi": {"plugin": "pmi2"}, "taskRoles": {"worker": {"mpi": {"plugin": "pmix"}}}},
            "E417",
            "different plugins: pmi2 and pmix",
        ),
        (
            {"layout": "shared", "mpi": {}, "taskRoles": {"worker": {"mpi": {"ranksPerInstance": 2}}}},
            "E417",
            "need equal CPUs",
        ),
    ],
)
def test_impossible_mpi_settings_are_refused(slurm: dict[str, Any], code: str, text: str) -> None:
    found, message = refusal(slurm)
    assert found == code
    assert text in message


def contained(runtime: str, *plugins: str) -> Site:
    return SITE.model_copy(update={"containers": Containers.of(runtime=runtime), "mpi": plugins or SITE.mpi})


@pytest.mark.parametrize("runtime", ["charliecloud", "podman", "apptainer", "pyxis", "singularity"])
def test_ranks_run_in_containers(runtime: str) -> None:
    """Singularity without root gives a container no user namespace to join, and Podman hides its processes."""
    image = "/image.sqsh" if runtime == "pyxis" else "/image"
    assert ranks(compiled({"mpi": {}}, contained(runtime), image=image)) == [(1, "pmix", (0, 1, 2))] * 3
    several = {"mpi": {"ranksPerInstance": 2}}
    if runtime in ("singularity", "podman"):
        assert f"none can join a container of {runtime}" in refusal(several, contained(runtime))[1]
    else:
        assert ranks(compiled(several, contained(runtime), image=image)) == [(2, "pmix", (0, 1, 2))] * 3


@pytest.mark.parametrize(
    ("plugins", "named", "plugin", "warns"),
    [
        (("pmix", "pmi2"), {}, "pmix", True),
        (("pmix_v4", "pmi2"), {}, "pmix_v4", True),
        (("pmix",), {}, "pmix", False),
        (("pmi2", "pmix"), {}, "pmi2", False),
        (("pmix", "pmi2"), {"plugin": "pmix"}, "pmix", False),
        (("pmix", "pmi2"), {"plugin": "pmi2"}, "pmi2", False),
    ],
)
def test_pmi2_is_offered_for_images_without_pmix_unless_the_job_names_a_plugin(
    plugins: tuple[str, ...], named: dict[str, str], plugin: str, *, warns: bool
) -> None:
    found = compiled({"mpi": {**named, "roles": ["worker"]}}, contained("charliecloud", *plugins))
    hints = [diagnostic.hint for diagnostic in found.warnings if diagnostic.code == "W415"]
    assert ["`mpi: {plugin: pmi2}`" in hint for hint in hints] == [True] * warns
    assert ranks(found)[1][1] == plugin


def test_mpi_is_refused_with_shared_gpus_or_slots() -> None:
    gpus = {name: {"gpu": 1} for name in ("master", "worker", "other")}
    assert "cannot share its GPUs" in refusal({"layout": "shared", "mpi": {"ranksPerInstance": 2}}, **gpus)[1]
    assert "tasks take turns" in refusal({"mpi": {}}, gang=False)[1]
    assert "it has none" in refusal({"mpi": {}}, SITE.model_copy(update={"mpi": ()}))[1]
