"""What a job file of protocol v1 may hold, and what it leaves out. Messages are in tests/rejected."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from paislurm.translator.errors import ProtocolError
from paislurm.translator.job import Completion, Directories, Image, Job, Lines, PortRequest, Resources

from .jobs import GONE
from .jobs_v1 import ROLE, codes, job, meant, role
from .openpai.server import refusal

HTTP_AND_SSH = (PortRequest(label="http", count=1), PortRequest(label="ssh", count=1))


def test_defaults() -> None:
    found = meant()
    assert codes() == []
    assert (found.protocol, found.name, found.virtual_cluster, found.retry_limit) == ("1", "demo", "default", 0)
    assert (found.gang, found.min_succeeded, found.variables, found.auth_file) == (True, -1, (), "")
    assert (found.directories, found.debug_hold) == (Directories(data="", output="", code=""), None)
    [only] = found.roles
    assert (only.name, only.controller_name, only.instances, only.task_retry_limit) == ("worker", "worker", 2, 0)
    assert only.completion == Completion(min_failed=1, min_succeeded=-1)
    assert only.image == Image(name="python:3.11", uri="python:3.11")
    assert only.resources == Resources(
        cpus=1, memory_mib=1024, gpus=0, shm_mib=64, declared_shm_mib=64, infiniband=False
    )
    assert (only.ports, only.lines, only.node_type) == (HTTP_AND_SSH, Lines(first=5, last=12), None)


@pytest.mark.parametrize(("key", "value"), [("taskNumber", 1), ("cpuNumber", 1), ("memoryMB", 100), ("gpuNumber", 0)])
def test_missing_required_keys_get_the_server_default(key: str, value: int) -> None:
    found = role(key, GONE)
    amounts = {
        "taskNumber": found.instances,
        "cpuNumber": found.resources.cpus,
        "memoryMB": found.resources.memory_mib,
        "gpuNumber": found.resources.gpus,
    }
    assert amounts[key] == value
    assert codes(f"taskRoles/0/{key}", GONE) == ["W331"]


ACCEPTED: list[tuple[str, Any]] = [
    ("jobName", "a.b_c~d-e"),
    ("jobName", "x" * 255),
    ("extras/a b", 1),
    ("authFile", ""),
    ("dataDir", ""),
    ("outputDir", "/tmp/it is 'here'"),
    ("codeDir", ""),
    ("virtualCluster", ""),
    ("gpuType", ""),
    ("killAllOnCompletedTaskNumber", 0),
    ("retryCount", -2),
    ("retryCount", 1000),
    ("jobEnvs", {}),
    ("jobEnvs/empty", None),
    ("jobEnvs/spark.executor.memory", "2g"),
    ("jobEnvs/1a-b", 1),
    ("extras", {}),
    ("extras/submitFrom", {"any": ["thing"]}),
    ("taskRoles/0/name", "a.b_c~d"),
    ("taskRoles/0/taskNumber", 10000),
    ("taskRoles/0/taskNumber", 2.0),
    ("taskRoles/0/cpuNumber", 1),
    ("taskRoles/0/memoryMB", 100),
    ("taskRoles/0/shmMB", 0),
    ("taskRoles/0/shmMB", 1024),
    ("taskRoles/0/gpuNumber", 0),
    ("taskRoles/0/portList", []),
    ("taskRoles/0/minFailedTaskCount", None),
    ("taskRoles/0/minFailedTaskCount", 2),
    ("taskRoles/0/minSucceededTaskCount", None),
    ("taskRoles/0/minSucceededTaskCount", 1),
    ("taskRoles/0/portList", [{"label": "a.b", "beginAt": 65535, "portNumber": 1}]),
]
AS_TEXT: list[tuple[str, Any, Any]] = [
    ("retryCount", "-2", -2),
    ("killAllOnCompletedTaskNumber", "1", 1),
    ("taskRoles/0/taskNumber", "2", 2),
    ("taskRoles/0/cpuNumber", " 4 ", 4),
    ("taskRoles/0/memoryMB", "1e3", 1000),
    ("taskRoles/0/shmMB", "64.0", 64),
    ("taskRoles/0/gpuNumber", "+1", 1),
    ("taskRoles/0/minFailedTaskCount", "2", 2),
    ("taskRoles/0/minSucceededTaskCount", "1", 1),
    (
        "taskRoles/0/portList",
        [{"label": "a", "beginAt": "8080", "portNumber": "2"}],
        [{"label": "a", "beginAt": 8080, "portNumber": 2}],
    ),
    ("extras/a-b", "1", 1),
]
REFUSED: list[tuple[str, Any, str]] = [
    ("jobName", "a b", "E204"),
    ("jobName", "", "E204"),
    ("jobName", "x" * 256, "E204"),
    ("jobName", 1, "E204"),
    ("image", "", "E203"),
    ("image", GONE, "E202"),
    ("taskRoles", [], "E205"),
    ("taskRoles", GONE, "E202"),
    ("taskRoles", {}, "E203"),
    ("virtualCluster", None, "E203"),
    ("retryCount", -3, "E203"),
    ("retryCount", "-3", "E203"),
    ("retryCount", "", "E203"),
    ("retryCount", "0x1", "E203"),
    ("retryCount", "1e999", "E203"),
    ("taskRoles/0/minFailedTaskCount", "3", "E332"),
    ("taskRoles/0/shmMB", "1025", "E333"),
    ("retryCount", True, "E203"),
    ("killAllOnCompletedTaskNumber", -1, "E203"),
    ("jobEnvs/a b", 1, "E204"),
    ("jobEnvs/a", {}, "E203"),
    ("taskRoles/0/minFailedTaskCount", 2**31, "E203"),
    ("extras", None, "E203"),
    ("unknown", 1, "E201"),
    ("taskRoles/0/name", "a-b", "E204"),
    ("taskRoles/0/name", GONE, "E202"),
    ("taskRoles/0/taskNumber", 0, "E203"),
    ("taskRoles/0/taskNumber", 10001, "E203"),
    ("taskRoles/0/cpuNumber", 0, "E203"),
    ("taskRoles/0/cpuNumber", 10**30, "E203"),
    ("taskRoles/0/memoryMB", 99, "E203"),
    ("taskRoles/0/shmMB", 1025, "E333"),
    ("taskRoles/0/shmMB", -1, "E203"),
    ("taskRoles/0/gpuNumber", -1, "E203"),
    ("taskRoles/0/gpuNumber", 0.5, "E203"),
    ("taskRoles/0/command", "", "E203"),
    ("taskRoles/0/command", " \n", "E203"),
    ("taskRoles/0/command", GONE, "E202"),
    ("taskRoles/0/minFailedTaskCount", 0, "E203"),
    ("taskRoles/0/minFailedTaskCount", 3, "E332"),
    ("taskRoles/0/minSucceededTaskCount", -1, "E203"),
    ("taskRoles/0/minSucceededTaskCount", 3, "E332"),
    ("taskRoles/0/portList", None, "E203"),
    ("taskRoles/0/portList", [{"beginAt": 0, "portNumber": 1}], "E202"),
    ("taskRoles/0/portList", [{"label": "a-b", "beginAt": 0, "portNumber": 1}], "E204"),
    ("taskRoles/0/portList", [{"label": "a", "beginAt": -1, "portNumber": 1}], "E203"),
    ("taskRoles/0/portList", [{"label": "a", "beginAt": 0, "portNumber": 0}], "E203"),
    ("taskRoles/0/portList", [{"label": "a", "beginAt": 65535, "portNumber": 2}], "E334"),
    ("taskRoles/0/portList", [{"label": "a", "beginAt": 5, "portNumber": 1}] * 2, "E331"),
    ("taskRoles/1", ROLE, "E307"),
    ("taskRoles/1", {**ROLE, "name": "WORKER"}, "E307"),
    ("extras/slurm/taskRoles", {"other": {}}, "E308"),
    ("extras/slurm/unknown", 1, "E201"),
]


@pytest.mark.parametrize(("path", "value"), ACCEPTED)
def test_valid_values_are_accepted(path: str, value: object) -> None:
    assert meant(path, value).protocol == "1"


def without_lines(found: Job) -> Job:
    roles = tuple(
        replace(role, lines=Lines(first=0, last=0), command=replace(role.command, lines=())) for role in found.roles
    )
    return replace(found, roles=roles)


@pytest.mark.parametrize(
    ("path", "value", "accepted"),
    [
        ("taskRoles/0/taskNumber", 0, False),
        ("taskRoles/0/taskNumber", -1, False),
        ("taskRoles/0", {**ROLE, "taskNumber": 0, "minFailedTaskCount": None}, True),
        ("jobEnvs/ ", "x", False),
        ("jobEnvs/a b", "x", True),
        ("jobEnvs/a", {"b": [1]}, True),
        ("extras/a b", 1, True),
        ("extras/-", 1, False),
        ("retryCount", 1e300, False),
    ],
)
def test_the_model_of_the_server_answers_as_the_server_did(path: str, value: object, accepted: bool) -> None:
    assert (refusal(json.loads(job(path, value))) == "") == accepted


@pytest.mark.parametrize(("path", "text", "number"), AS_TEXT)
def test_numbers_can_be_given_as_text(path: str, text: object, number: object) -> None:
    assert without_lines(meant(path, text)) == without_lines(meant(path, number))


@pytest.mark.parametrize(("path", "value", "code"), REFUSED)
def test_invalid_values_are_refused(path: str, value: object, code: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        meant(path, value)
    assert code in [diagnostic.code for diagnostic in caught.value.diagnostics]
    assert all(diagnostic.location and diagnostic.location.line for diagnostic in caught.value.diagnostics)
