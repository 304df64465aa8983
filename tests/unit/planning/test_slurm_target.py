"""Storages, priorities and kinds of nodes: what the site profile makes of OpenPAI's names."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import yaml

from paislurm.translator.errors import PlanError
from paislurm.translator.pipeline import Compiled, compile_job
from paislurm.translator.site.profile import Site

from ..protocol.jobs import JOB, ROLE, changed, line_of
from .compiled import directives, site_of

PROFILE = site_of("""
partitions: {batch: {nodes: [{count: 4, cpus: 16, memoryMB: 100000}]}}
defaultPartition: batch
virtualClusters: {default: {partition: batch, qos: normal}}
storages:
  nfs: {path: /data/nfs, default: true}
  home: {path: /data/home, shared: false}
  same: {path: /mnt/same, default: true}
priorities: {prod: {qos: high}, oppo: {qos: scavenger, nice: 50}}
nodeTypes: {V100: {constraint: v100}, rack-1: {nodelist: "node[1-4]"}}
""")


def compiled(extras: dict[str, Any], site: Site = PROFILE, **values: Any) -> Compiled:
    job = changed(JOB, "extras", extras)
    for path, value in values.items():
        job = changed(job, path.replace("__", "/"), value)
    return compile_job(yaml.safe_dump(job, sort_keys=False), site=site)


def new_codes(found: Compiled) -> list[str]:
    return [diagnostic.code for diagnostic in found.warnings if diagnostic.code not in ("W402", "W202")]


def storages(found: Compiled) -> list[str]:
    (step,) = found.plan.roles[0].before
    assert (step.name, step.phase) == ("storages", "start")
    return dict(step.script.settings)["MOUNTS"].split("\n")


def test_a_task_cannot_have_more_ports_than_the_site() -> None:
    with pytest.raises(PlanError, match="E410: a task of role worker needs 17002 ports, but the site has 17001"):
        compiled({}, taskRoles__worker__resourcePerInstance__ports={"web": 17000})
    assert compiled({}, taskRoles__worker__resourcePerInstance__ports={"web": 16999}).script


@pytest.mark.parametrize(("grace", "kill_wait", "seconds"), [(10, 30, 10), (30, 30, 28), (30, 2, 1)])
def test_the_grace_after_an_interruption_ends_before_kill_wait(grace: int, kill_wait: int, seconds: int) -> None:
    """Slurm sends KILL itself then, also to the batch script, which has a result to write."""
    site = site_of(f"time: {{grace: {grace}, killWait: {kill_wait}}}\n")
    assert compiled({}, site).plan.times.interrupted_grace == timedelta(seconds=seconds)


def test_storages_use_the_paths_of_the_site() -> None:
    found = compiled({"storages": [{"name": "nfs"}, {"name": "home", "mountPath": "/h"}, {"name": "same"}]})
    assert storages(found) == ["all\t/data/nfs\t/mnt/nfs", "own\t/data/home\t/h", "all\t/mnt/same\t/mnt/same"]
    assert new_codes(found) == ["W406"]
    assert "nfs at /mnt/nfs, home at /h" in found.warnings[0].message


def test_a_storage_of_the_older_plugin_is_reported_at_the_plugin() -> None:
    plugins = [{"plugin": "ssh"}, {"plugin": "teamwise_storage", "parameters": {"storageConfigNames": ["nfs"]}}]
    found = compiled({"com.microsoft.pai.runtimeplugin": plugins})
    (warning,) = (each for each in found.warnings if each.code == "W406")
    assert warning.path == '$.extras["com.microsoft.pai.runtimeplugin"][1]'
    assert "teamwise_storage" in found.document.lines[line_of(warning) - 1]


def test_a_storage_at_its_default_path_gets_no_warning() -> None:
    assert new_codes(compiled({"storages": [{"name": "nfs", "mountPath": "/data/nfs"}, {"name": "same"}]})) == []


def test_storages_without_a_name_are_skipped() -> None:
    found = compiled({"storages": [{"mountPath": "/x"}, {"name": "nfs"}, {"name": None}, {"name": ""}]})
    assert storages(found) == ["all\t/data/nfs\t/mnt/nfs"]
    assert compiled({"storages": [{"mountPath": "/x"}]}).job.storages is None


def test_an_empty_list_means_the_default_storages() -> None:
    assert storages(compiled({"storages": []})) == ["all\t/data/nfs\t/mnt/nfs", "all\t/mnt/same\t/mnt/same"]
    found = compiled({"storages": []}, site=Site.of())
    assert (new_codes(found), found.plan.roles[0].before) == (["W405"], ())


def test_an_unknown_storage_is_refused_where_the_site_lists_them() -> None:
    with pytest.raises(PlanError, match="the site has no storage 'nsf'") as caught:
        compiled({"storages": [{"name": "nsf"}]})
    assert (caught.value.diagnostics[0].hint, line_of(caught.value.diagnostics[0]) > 0) == ("did you mean `nfs`?", True)
    found = compiled({"storages": [{"name": "nsf"}]}, site=Site.of())
    assert (new_codes(found), storages(found)) == (["W406"], ["all\t/mnt/nsf\t/mnt/nsf"])


@pytest.mark.parametrize(
    ("priority", "expected"),
    [
        (None, ("normal", None)),
        ("test", ("normal", None)),
        ("prod", ("high", None)),
        ("oppo", ("scavenger", "50")),
        ("crit", ("normal", None)),
    ],
)
def test_priorities_are_mapped_to_slurm_options(priority: str | None, expected: tuple[str, str | None]) -> None:
    found = compiled({"hivedScheduler": {"jobPriorityClass": priority}} if priority else {})
    options = directives(found)
    assert (options.get("qos"), options.get("nice")) == expected
    assert new_codes(found) == (["W407"] if priority == "crit" else [])
    own = compiled({"hivedScheduler": {"jobPriorityClass": "prod"}, "slurm": {"qos": "mine"}})
    assert directives(own)["qos"] == "mine"


def test_an_option_of_a_role_overrides_that_of_the_job() -> None:
    slurm = {"constraint": "job", "taskRoles": {"ps": {"constraint": "role"}}}
    found = compiled({"slurm": slurm}, taskRoles__ps=ROLE)
    assert [directives(found, number)["constraint"] for number in (0, 1)] == ["job", "role"]


def test_without_a_profile_opportunistic_jobs_wait_for_others() -> None:
    found = compiled({"hivedScheduler": {"jobPriorityClass": "oppo"}}, site=Site.of())
    assert (directives(found)["nice"], new_codes(found)) == ("1000", [])


def test_node_types_are_mapped_to_slurm_options() -> None:
    def hived(**roles: Any) -> dict[str, Any]:
        return {"hivedScheduler": {"taskRoles": roles}}

    both = {"worker": {"skuType": "V100", "skuNum": 2}, "ps": {"pinnedCellId": "rack-1", "affinityGroupName": "g"}}
    found = compiled(hived(**both), taskRoles__ps=ROLE)
    assert directives(found, 0)["constraint"] == "v100"
    assert "nodelist" not in directives(found, 0)
    assert directives(found, 1)["nodelist"] == "node[1-4]"
    with pytest.raises(PlanError, match="the site has no node type 'V10'"):
        compiled(hived(worker={"skuType": "V10"}))
    assert new_codes(compiled(hived(worker={"skuType": "V10"}), site=Site.of())) == ["W408"]
    assert new_codes(compiled(hived(worker={"skuNum": 1, "skuType": None}))) == []


def test_roles_with_different_node_types_do_not_share_an_allocation() -> None:
    """One allocation has the constraint of all its nodes or of none."""
    roles = {f"r{number}": ROLE for number in range(5)}
    alike = {"constraint": "ib"}
    assert compiled({"slurm": alike}, taskRoles=roles).plan.layout.kind == "shared"
    with pytest.raises(PlanError, match="can never start"):
        compiled({"slurm": {"taskRoles": {"r1": {"constraint": "ib"}}}}, taskRoles=roles)
