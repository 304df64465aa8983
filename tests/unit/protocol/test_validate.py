"""What a job file means: defaults and decisions. Messages are in tests/rejected."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from paislurm.translator.job import Completion, Lines, PortRequest, Resources
from paislurm.translator.protocol.validate import validate
from paislurm.translator.reading.read import read
from paislurm.translator.slurm_options import CompatOptions, RoleSlurmOptions

from .jobs import JOB, ROLE, changed, check, codes, error_codes, job


def test_defaults() -> None:
    checked = check(job())
    assert not checked.warnings
    found = checked.job
    assert (found.protocol, found.name, found.virtual_cluster, found.retry_limit) == ("2", "demo", "default", 0)
    assert (found.gang, found.slurm_options.layout, found.slurm_options.job) == (True, None, RoleSlurmOptions())
    [role] = found.roles
    assert (role.name, role.controller_name, role.instances, role.task_retry_limit) == ("worker", "worker", 1, 0)
    assert role.completion == Completion(min_failed=1, min_succeeded=-1)
    assert role.resources == Resources(
        cpus=1, memory_mib=1024, gpus=0, shm_mib=512, declared_shm_mib=0, infiniband=False
    )
    assert role.ports == (PortRequest(label="ssh", count=1), PortRequest(label="http", count=1))
    assert (role.image.name, role.image.uri, role.lines) == ("image", "python:3.11", Lines(first=9, last=16))
    command = role.command
    assert (command.text, command.errexit, command.nounset, command.pipefail) == ("python train.py", True, True, True)


def test_a_virtual_cluster_without_a_name_is_the_default() -> None:
    assert check(job("defaults", {"virtualCluster": None})).job.virtual_cluster == "default"


@pytest.mark.parametrize(
    ("key", "names", "code"),
    [
        (
            "prerequisites",
            "[{name: image, type: dockerimage, uri: a}, {name: image, type: dockerimage, uri: b}]",
            "E301",
        ),
        ("deployments", "[{name: d, taskRoles: {worker: {}}}, {name: d, taskRoles: {worker: {}}}]", "E302"),
    ],
)
def test_equal_names_on_one_line_are_distinguished(key: str, names: str, code: str) -> None:
    assert error_codes(f"{job(key, None).replace(f'{key}: null', f'{key}: {names}')}") == [code]


def test_roles_keep_the_order_of_the_file() -> None:
    found = check(job("taskRoles", {"zeta": ROLE, "alpha": ROLE, "Mid_1": ROLE})).job
    assert [role.name for role in found.roles] == ["zeta", "alpha", "Mid_1"]
    assert [role.controller_name for role in found.roles] == ["zeta", "alpha", "mid1"]


@pytest.mark.parametrize(
    ("wanted", "expected", "warnings"),
    [
        ({"cpu": 0}, (1, 1024, 0), ["W204"]),
        ({"cpu": -2}, (1, 1024, 0), ["W204"]),
        ({"gpu": -1}, (1, 1024, 0), ["W205"]),
        ({"memoryMB": 0}, (1, 0, 0), ["W206"]),
        ({"memoryMB": -5}, (1, 0, 0), ["W206"]),
        ({"cpu": 8.0, "memoryMB": 65536, "gpu": 4}, (8, 65536, 4), []),
    ],
)
def test_resources(wanted: dict[str, Any], expected: tuple[int, int, int], warnings: list[str]) -> None:
    checked = check(job("taskRoles/worker/resourcePerInstance", {**ROLE["resourcePerInstance"], **wanted}))
    resources = checked.job.roles[0].resources
    assert (resources.cpus, resources.memory_mib, resources.gpus) == expected
    assert codes(checked) == warnings


@pytest.mark.parametrize(("shm", "effective", "declared"), [(0, 512, 0), (4096, 4096, 4096), (-1, 512, 0)])
def test_shared_memory(shm: int, effective: int, declared: int) -> None:
    resources = check(job("taskRoles/worker/extraContainerOptions", {"shmMB": shm})).job.roles[0].resources
    assert (resources.shm_mib, resources.declared_shm_mib) == (effective, declared)


def test_ports_keep_their_order_and_implicit_ones_follow() -> None:
    ports = {"web": 2, "none": 0, "http": 0, "tf": 1}
    checked = check(job("taskRoles/worker/resourcePerInstance/ports", ports))
    found = [(port.label, port.count) for port in checked.job.roles[0].ports]
    assert found == [("web", 2), ("http", 1), ("tf", 1), ("ssh", 1)]
    assert codes(checked) == ["W208", "W208"]


@pytest.mark.parametrize(
    ("completion", "expected", "warnings"),
    [
        ({}, (1, -1), []),
        ({"minFailedInstances": None, "minSucceededInstances": None}, (1, -1), ["W201", "W201"]),
        ({"minFailedInstances": -1, "minSucceededInstances": 1}, (-1, 1), []),
        ({"minFailedInstances": 5}, (5, -1), ["W203"]),
    ],
)
def test_completion_policies_are_read(
    completion: dict[str, Any], expected: tuple[int, int], warnings: list[str]
) -> None:
    checked = check(job("taskRoles/worker/completion", completion))
    found = checked.job.roles[0].completion
    assert (found.min_failed, found.min_succeeded) == expected
    assert codes(checked) == warnings


def test_min_succeeded_can_be_the_number_of_instances() -> None:
    roles = {"a": {**ROLE, "instances": 3}, "b": {**ROLE, "completion": {"minSucceededInstances": 1}}}
    base = changed(JOB, "taskRoles", roles)
    assert codes(check(yaml.safe_dump(base))) == ["W202"]
    by_job = check(yaml.safe_dump(changed(base, "extras/slurm/compat/minSucceeded", "instances")))
    by_site = validate(read(yaml.safe_dump(base), file="job.yaml"), defaults=CompatOptions(min_succeeded="instances"))
    for found in (by_job, by_site):
        assert [role.completion.min_succeeded for role in found.job.roles] == [3, 1]
    assert not by_job.warnings


@pytest.mark.parametrize(
    ("threshold", "says"),
    [
        (-1, "the job succeeds only when all tasks of all roles have ended"),
        (4, "the job succeeds only when all tasks of all roles have ended"),
        (3, "the job succeeds by the threshold of `b`, or when all tasks of all roles have ended"),
    ],
)
def test_the_warning_about_a_role_without_a_threshold_says_when_the_job_succeeds(threshold: int, says: str) -> None:
    """A threshold above the number of instances is never reached."""
    completion = {"minSucceededInstances": threshold}
    roles = {"a": ROLE, "b": {**ROLE, "instances": 3, "completion": completion}}
    (warning,) = (each for each in check(job("taskRoles", roles)).warnings if each.code == "W202")
    assert warning.message == f"no `minSucceededInstances` for `a`: {says}"


def test_a_warning_about_hundreds_of_roles_names_a_few() -> None:
    (warning,) = check(job("taskRoles", {f"r{number}": ROLE for number in range(300)})).warnings
    words = [each in warning.message for each in ("for `r0`, `r1`, ", "and 292 more: the job succeeds")]
    assert (warning.code, words) == ("W202", [True, True])


def test_switches_of_the_job_override_those_of_the_site() -> None:
    site = CompatOptions(job_name="full", nounset=False, exit_patterns="original", unresolved="keep", gpu_type="any")
    assert validate(read(job(), file="j"), defaults=site).job.compat.job_name == "full"
    text = job("extras/slurm/compat", {"jobName": "plain", "nounset": True, "exitPatterns": "fixed"})
    found = validate(read(text, file="j"), defaults=site).job
    assert (found.compat.job_name, found.compat.exit_patterns) == ("plain", "fixed")
    assert found.roles[0].command.nounset
    text = job("taskRoles/worker/commands", ["echo <% $parameters.x %>"])
    assert validate(read(text, file="j"), defaults=site).job.roles[0].command.text == "echo <% $parameters.x %>"


@pytest.mark.parametrize(
    "extras",
    [
        {"submitFrom": "submit-job-v2"},
        {"tensorBoard": {"randomStr": "x"}},
        {
            "hivedScheduler": {
                "jobPriorityClass": "test",
                "taskRoles": {"worker": {"skuNum": 2, "skuType": None}},
            }
        },
        {"jobStatusChangeNotification": {"running": False}},
        {"com.microsoft.pai.runtimeplugin": None},
        {"com.microsoft.pai.runtimeplugin": [{"plugin": "ssh", "parameters": {"jobssh": False, "userssh": {}}}]},
        {"com.microsoft.pai.runtimeplugin": [{"plugin": "ssh"}]},
        {"com.microsoft.pai.runtimeplugin": [{"plugin": "cmd", "parameters": {"callbacks": []}}]},
        {"com.microsoft.pai.runtimeplugin": [{"plugin": "git", "taskroles": []}]},
        {
            "gangAllocation": False,
            "com.microsoft.pai.runtimeplugin": [{"plugin": "ssh", "parameters": {"jobssh": True}}],
        },
        {"slurm": None},
        {"slurm": {"partition": "gpu", "options": ["--nice=1"], "compat": {"nounset": False}}},
    ],
    ids=str,
)
def test_keys_without_effect_do_not_prevent_submission(extras: dict[str, Any]) -> None:
    assert not check(job("extras", extras)).warnings


def test_prerequisites_without_effect_get_no_warning() -> None:
    text = changed(JOB, "prerequisites/1", {"name": "set", "type": "data", "uri": ["x"]})
    text = changed(text, "prerequisites/2", {"name": "tools", "type": "script", "plugin": "com.x", "callbacks": []})
    text = changed(text, "taskRoles/worker/prerequisites", ["set", "image"])
    assert not check(yaml.safe_dump(text)).warnings


def test_extras_storages_replaces_the_storage_plugin() -> None:
    plugin = {"plugin": "teamwise_storage", "parameters": {"storageConfigNames": ["a", "b"]}}

    def storages(**extras: object) -> list[tuple[str, str]] | None:
        found = check(job("extras", {"com.microsoft.pai.runtimeplugin": [plugin], **extras})).job.storages
        return found and [(each.name, each.mount_path) for each in found.wanted]

    assert storages() == [("a", "/mnt/a"), ("b", "/mnt/b")]
    assert storages(storages=[{"name": "x"}, {"name": "y", "mountPath": "/data"}]) == [("x", "/mnt/x"), ("y", "/data")]
    assert storages(storages=[]) == []
    plugin["parameters"] = {}
    assert storages() == []
