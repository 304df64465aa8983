"""Plans of job files of protocol v1: fixed ports, paths, GPU types, what tasks are told."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from paislurm.translator.errors import PlanError
from paislurm.translator.pipeline import Compiled, compile_job
from paislurm.translator.planning.plan_text import plan_text
from paislurm.translator.site.load import load_site

from ..protocol.jobs import JOB, changed, line_of
from ..protocol.jobs_v1 import ROLE, job

PROFILE = """\
partitions:
  batch: {nodes: [{count: 4, cpus: 8, memoryMB: 64000}]}
defaultPartition: batch
nodeTypes:
  K80: {constraint: k80}
defaultFileSystem: "hdfs://host:9000"
"""
BOUND = "retry: {maxRestarts: 3}\n"
FIXED = [{"label": "web", "beginAt": 8080, "portNumber": 2}]


def compiled(path: str = "", value: object = None, profile: str = PROFILE) -> Compiled:
    return compile_job(job(path, value), file="job.json", site=load_site(profile, file="site.yaml"))


def variables(found: Compiled) -> dict[str, str]:
    return {**dict(found.plan.environment.of_job), **dict(found.plan.roles[0].environment)}


def shown(text: str) -> dict[str, str]:
    """Return what stands above the table of a plan, by its name."""
    head, _, _ = plan_text(compile_job(text, site=load_site(PROFILE + BOUND, file="site.yaml")).plan).partition("\n\n")
    return {line[:12].strip(): line[12:] for line in head.splitlines()}


def test_the_plan_shows_paths_retries_and_notifications() -> None:
    found = shown(job("codeDir", "$PAI_DEFAULT_FS_URI/$PAI_USERNAME/code"))
    assert {name: found.get(name) for name in ("code", "output", "data", "notify", "retries")} == {
        "code": "hdfs://host:9000/$PAI_USER_NAME/code, a copy for each task",
        "output": "hdfs://host:9000/Output/$PAI_USER_NAME/demo, made if it is missing",
        "data": None,
        "notify": None,
        "retries": "up to 10 after transient failures, none after failures of unknown cause",
    }
    assert shown(job("outputDir", "/o"))["output"] == "/o"
    retries = [shown(job("retryCount", count))["retries"] for count in (3, -1, -2)]
    assert retries == [
        "up to 10 after transient failures, 3 after failures of unknown cause",
        "up to 10 after transient failures, any number after failures of unknown cause",
        "at most 3, after any end",
    ]
    assert shown(
        yaml.safe_dump(changed(JOB, "extras", {"jobStatusChangeNotification": {"running": True, "failed": True}}))
    )["notify"] == ("running, failed")


def test_tasks_with_fixed_ports_get_separate_nodes() -> None:
    assert compiled().plan.components[0].nodes == 1
    found = compiled("taskRoles/0/portList", FIXED)
    assert (found.plan.components[0].nodes, found.plan.roles[0].tasks_per_node) == (2, 1)
    assert "PSL_FIXED_PORTS[0]='web:8080'" in found.script
    assert ("ntasks-per-node", "1") in compile_job(job("taskRoles/0/portList", FIXED)).plan.components[0].directives


def test_more_tasks_with_fixed_ports_than_nodes_are_refused() -> None:
    many = {**ROLE, "taskNumber": 5, "portList": FIXED}
    with pytest.raises(PlanError, match="each on a separate node because of their fixed ports"):
        compiled("taskRoles", [many])
    with pytest.raises(PlanError) as caught:
        compiled("taskRoles", [{**ROLE, "name": "first"}, {**ROLE, "memoryMB": 100_000}])
    [diagnostic] = caught.value.diagnostics
    assert (diagnostic.path, line_of(diagnostic)) == ("$.taskRoles[1]", 13)


def test_endless_restarts_need_a_limit() -> None:
    for_ever = changed(JOB, "extras", {"slurm": {"v1": {"retryCount": -2}}})
    jobs = {"$.retryCount": job("retryCount", -2), "$.extras.slurm.v1.retryCount": yaml.safe_dump(for_ever)}
    for path, text in jobs.items():
        with pytest.raises(PlanError) as caught:
            compile_job(text, site=load_site(PROFILE, file="site.yaml"))
        assert [(diagnostic.code, diagnostic.path) for diagnostic in caught.value.diagnostics] == [("E406", path)]
        bound = load_site(PROFILE + BOUND, file="site.yaml")
        assert compile_job(text, site=bound).plan.retry_policy.retry_limit == -2
        assert [diagnostic.path for diagnostic in compile_job(text).warnings if diagnostic.code == "W410"] == [path]


def test_one_fixed_port_for_two_roles_in_an_allocation_gets_a_warning() -> None:
    roles: list[dict[str, Any]] = [{**ROLE, "name": name, "taskNumber": 2, "portList": FIXED} for name in "abc"]
    found = compiled("taskRoles", roles)
    assert found.plan.layout.kind == "shared"
    assert [diagnostic.code for diagnostic in found.warnings].count("W421") == 3
    for number, role in enumerate(roles):
        role["portList"] = [{"label": "web", "beginAt": 8080 + number, "portNumber": 1}]
    assert "W421" not in [diagnostic.code for diagnostic in compiled("taskRoles", roles).warnings]


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("", ("",)),
        ("/data", ("/data",)),
        ("$PAI_DEFAULT_FS_URI/$PAI_DEFAULT_FS_URI", ("hdfs://host:9000/$PAI_DEFAULT_FS_URI",)),
        ("$PAI_JOB_NAME/$PAI_JOB_NAME.x/$PAI_JOB_NAMES", ("demo/demo.x/$PAI_JOB_NAMES",)),
        ("/$PAI_USER_NAME/$PAI_USERNAME/$PAI_USERNAMES", ("/", "/", "/$PAI_USERNAMES")),
        ("/${PAI_USER_NAME}/$HOME/`id`", ("/${PAI_USER_NAME}/$HOME/`id`",)),
    ],
)
def test_paths_are_mapped_to_the_site(written: str, parts: tuple[str, ...]) -> None:
    """Only the names of the reference are resolved, and the shell sees nothing to resolve."""
    found = compiled("dataDir", written)
    assert dict(found.plan.environment.paths)["PAI_DATA_DIR"] == parts
    line = "export PAI_DATA_DIR=" + '"$PAI_USER_NAME"'.join(f"'{part}'" for part in parts)
    assert line in found.script.splitlines()


def test_the_default_output_folder_contains_user_and_job() -> None:
    assert dict(compiled().plan.environment.paths) == {
        "PAI_DATA_DIR": ("",),
        "PAI_OUTPUT_DIR": ("hdfs://host:9000/Output/", "/demo"),
        "PAI_CODE_DIR": ("",),
    }
    assert "W422" not in [diagnostic.code for diagnostic in compile_job(job()).warnings]


def test_paths_without_a_file_system_get_a_warning() -> None:
    [diagnostic] = [f for f in compile_job(job("dataDir", "$PAI_DEFAULT_FS_URI/x")).warnings if f.code == "W422"]
    assert ("dataDir" in diagnostic.message, line_of(diagnostic) > 1) == (True, True)
    assert "W422" not in [diagnostic.code for diagnostic in compiled("dataDir", "$PAI_DEFAULT_FS_URI/x").warnings]


def test_gpu_type_selects_a_node_type() -> None:
    assert ("constraint", "k80") in compiled("gpuType", "K80").plan.components[0].directives
    with pytest.raises(PlanError) as caught:
        compiled("gpuType", "K8")
    diagnostic = caught.value.diagnostics[0]
    assert (diagnostic.code, diagnostic.path, line_of(diagnostic) > 1) == ("E405", "$.gpuType", True)
    assert "W408" in [diagnostic.code for diagnostic in compile_job(job("gpuType", "K80")).warnings]


def test_tasks_get_the_variables_of_openpai() -> None:
    expected = {
        "PAI_DEFAULT_FS_URI": "hdfs://host:9000",
        "PAI_RESOURCE_worker": "0,1,1024,64",
        "PAI_CURRENT_TASK_ROLE_SHM_MB": "64",
        "PAI_MIN_FAILED_TASK_COUNT_worker": "1",
        "PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT": "1",
        "PAI_MIN_SUCCEEDED_TASK_COUNT_worker": "",
        "PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT": "",
    }
    found = variables(compiled())
    assert {name: found.get(name) for name in expected} == expected
    assert "PAI_KILL_ALL_ON_COMPLETED_TASK_NUM" not in found
    failed, succeeded = list(expected)[3:5], list(expected)[5:]
    unbound = variables(compiled("taskRoles/0/minFailedTaskCount"))
    assert [unbound[name] for name in failed] == ["", ""]
    bound = variables(compiled("taskRoles/0/minSucceededTaskCount", 2))
    assert [bound[name] for name in succeeded] == ["2", "2"]
    killing = compiled("killAllOnCompletedTaskNumber", 2)
    assert variables(killing)["PAI_KILL_ALL_ON_COMPLETED_TASK_NUM"] == "2"
    assert "\nPSL_MIN_SUCCEEDED_OF_JOB=2 " in killing.script


def test_invalid_variable_names_are_omitted() -> None:
    found = compiled("taskRoles", [{**ROLE, "name": "ps.1"}, {**ROLE, "name": ".."}])
    assert [role.variable_names for role in found.plan.roles] == [("ps1",), ()]
    assert variables(found)["PAI_TASK_ROLE_LIST"] == "ps.1,.."
    assert {name for name in variables(found) if name.startswith("PAI_RESOURCE")} == {"PAI_RESOURCE_ps1"}
    assert [role.folder for role in found.plan.roles] == ["0-ps.1", "1-.."]
