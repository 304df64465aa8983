"""What a job file of protocol v1 means. Messages are in tests/rejected."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paislurm.translator.errors import PaislurmError, ProtocolError
from paislurm.translator.job import Completion, Directories, Image, Job, Lines, PortRequest, Resources, Role
from paislurm.translator.pipeline import compile_job
from paislurm.translator.protocol.validate import validate
from paislurm.translator.reading.read import read
from paislurm.translator.slurm_options import CompatOptions

from .jobs import GONE, check
from .jobs_v1 import ROLE, job

FOLDER = os.environ.get("PAISLURM_OPENPAI_JOBS")
PUBLISHED = sorted(Path(FOLDER).glob("v1/*.json")) if FOLDER else []
HTTP_AND_SSH = (PortRequest(label="http", count=1), PortRequest(label="ssh", count=1))


def meant(path: str = "", value: object = None) -> Job:
    return check(job(path, value)).job


def role(path: str = "", value: object = None) -> Role:
    return meant(f"taskRoles/0/{path}" if path else "", value).roles[0]


def codes(path: str = "", value: object = None) -> list[str]:
    return [diagnostic.code for diagnostic in check(job(path, value)).warnings]


def test_defaults() -> None:
    found = meant()
    assert codes() == []
    assert (found.protocol, found.name, found.virtual_cluster, found.retry_limit) == ("1", "demo", "default", 0)
    assert (found.gang, found.min_succeeded, found.variables, found.auth_file, found.debug) == (True, -1, (), "", False)
    assert found.directories == Directories(data="", output="", code="")
    [role] = found.roles
    assert (role.name, role.controller_name, role.instances, role.task_retry_limit) == ("worker", "worker", 2, 0)
    assert role.completion == Completion(min_failed=1, min_succeeded=-1)
    assert role.image == Image(name="python:3.11", uri="python:3.11")
    assert role.resources == Resources(
        cpus=1, memory_mib=1024, gpus=0, shm_mib=64, declared_shm_mib=64, infiniband=False
    )
    assert role.ports == HTTP_AND_SSH
    assert role.lines == Lines(first=5, last=12)
    assert role.node_type is None


@pytest.mark.parametrize(("key", "value"), [("taskNumber", 1), ("cpuNumber", 1), ("memoryMB", 100), ("gpuNumber", 0)])
def test_what_the_documents_require_has_the_servers_default(key: str, value: int) -> None:
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
    ("jobEnvs/a-b", 1, "E204"),
    ("jobEnvs/a", {}, "E203"),
    ("extras/a b", 1, "E204"),
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
def test_accepted(path: str, value: object) -> None:
    assert meant(path, value).protocol == "1"


def without_lines(found: Job) -> Job:
    roles = tuple(
        replace(role, lines=Lines(first=0, last=0), command=replace(role.command, lines=())) for role in found.roles
    )
    return replace(found, roles=roles)


@pytest.mark.parametrize(("path", "text", "number"), AS_TEXT)
def test_numbers_as_text_mean_the_number(path: str, text: object, number: object) -> None:
    assert without_lines(meant(path, text)) == without_lines(meant(path, number))


@pytest.mark.parametrize(("path", "value", "code"), REFUSED)
def test_refused(path: str, value: object, code: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        meant(path, value)
    assert code in [diagnostic.code for diagnostic in caught.value.diagnostics]
    assert all(diagnostic.location and diagnostic.location.line for diagnostic in caught.value.diagnostics)


def test_thresholds_of_null_never_fire() -> None:
    assert role("minFailedTaskCount", None).completion == Completion(min_failed=-1, min_succeeded=-1)
    assert role("minSucceededTaskCount", 2).completion == Completion(min_failed=1, min_succeeded=2)


def test_shared_memory_that_is_stated_is_shown() -> None:
    found = role("shmMB", 256).resources
    assert (found.shm_mib, found.declared_shm_mib) == (256, 256)
    found = role("shmMB", 0).resources
    assert (found.shm_mib, found.declared_shm_mib) == (64, 0)


def test_declared_ports_come_first_and_may_be_fixed() -> None:
    ports = [{"label": "web", "beginAt": 8080, "portNumber": 2}, {"label": "ssh", "beginAt": 0, "portNumber": 3}]
    assert role("portList", ports).ports == (
        PortRequest(label="web", count=2, first=8080),
        PortRequest(label="ssh", count=3),
        PortRequest(label="http", count=1),
    )


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("/bin/bash", "sleep infinity"),
        (" bash ", "sleep infinity"),
        ("exec /usr/bin/sh -i", "sleep infinity"),
        ("bash -l -i;", "sleep infinity"),
        ("bash run.sh", "bash run.sh"),
        ("bash -c true", "bash -c true"),
        ("/bin/shutdown", "/bin/shutdown"),
        ("echo '<% $parameters.x %>'", "echo '<% $parameters.x %>'"),
        ("a\nb", "a\nb"),
    ],
)
def test_commands_are_taken_as_they_are_but_for_a_shell_alone(command: str, text: str) -> None:
    found = role("command", command).command
    assert (found.text, found.errexit, found.nounset, found.pipefail) == (text, False, False, False)
    assert found.lines == ((0, 11),)
    assert ("W334" in codes("taskRoles/0/command", command)) == (text == "sleep infinity")


def test_kill_all_counts_the_tasks_of_all_roles() -> None:
    assert meant("killAllOnCompletedTaskNumber", 2).min_succeeded == 2
    assert codes("killAllOnCompletedTaskNumber", 2) == []
    assert meant("killAllOnCompletedTaskNumber", 3).min_succeeded == 3
    assert codes("killAllOnCompletedTaskNumber", 3) == ["W333"]


@pytest.mark.parametrize("key", ["minFailedTaskCount", "minSucceededTaskCount"])
def test_kill_all_has_no_effect_beside_thresholds_of_roles(key: str) -> None:
    base = job("killAllOnCompletedTaskNumber", 1).replace('"gpuNumber"', f'"{key}": null, "gpuNumber"')
    checked = check(base)
    assert checked.job.min_succeeded == -1
    assert [diagnostic.code for diagnostic in checked.warnings] == ["W333"]


def test_variables_are_text_as_javascript_writes_it() -> None:
    envs = {"i": 32, "f": 0.10, "e": 1e-7, "t": True, "n": None, "s": "a $HOME 'b'\n", "big": 2**60, "1st": 1}
    assert meant("jobEnvs", envs).variables == (
        ("i", "32"),
        ("f", "0.1"),
        ("e", "1e-7"),
        ("t", "true"),
        ("n", ""),
        ("s", "a $HOME 'b'\n"),
        ("big", str(2**60)),
    )
    assert codes("jobEnvs", envs) == ["W335"]


@pytest.mark.parametrize(("value", "on"), [(True, True), ("true", True), (False, False), ("yes", False), (1, False)])
def test_switches_among_the_variables(value: object, on: bool) -> None:
    found = meant("jobEnvs", {"isDebug": value, "paiAzRDMA": value})
    assert (found.debug, found.roles[0].resources.infiniband) == (on, on)
    assert {name for name, _ in found.variables} == {"isDebug", "paiAzRDMA"}
    assert codes("jobEnvs", {"isDebug": value}).count("W332") == (value == "true")


def test_wishes_stand_under_extras() -> None:
    slurm = {
        "time": "1:00:00",
        "layout": "het",
        "taskRoles": {"worker": {"qos": "high"}},
        "compat": {"jobName": "full"},
    }
    found = meant("extras/slurm", slurm)
    assert found.slurm_options.layout == "het"
    assert found.slurm_options.job.time is not None
    assert found.roles[0].slurm_options.pass_through == {"qos": "high"}
    assert found.compat.job_name == "full"
    assert codes("extras/slurm", slurm) == []


def test_a_site_may_choose_between_readings() -> None:
    document = read(job(), file="job.json")
    assert validate(document, defaults=CompatOptions(job_name="full")).job.compat.job_name == "full"


def test_the_name_can_be_changed() -> None:
    assert validate(read(job(), file="job.json"), name="a.b").job.name == "a.b"
    assert compile_job(job(), suffix="~2").job.name == "demo~2"


@pytest.mark.parametrize(
    "text",
    [
        "jobName: demo\nimage: python:3.11\ntaskRoles: [{name: worker, command: 'true'}]\n",
        '{jobName: demo, image: "python:3.11", taskRoles: [{name: worker, command: "true"}]}',
    ],
)
def test_a_job_of_v1_written_as_yaml_is_one(text: str) -> None:
    assert check(text).job.protocol == "1"


def test_a_job_of_v2_written_as_json_is_one() -> None:
    text = """{"protocolVersion": 2, "name": "demo", "type": "job",
        "prerequisites": [{"type": "dockerimage", "name": "image", "uri": "python:3.11"}],
        "taskRoles": {"worker": {"dockerImage": "image", "resourcePerInstance": {"cpu": 1, "memoryMB": 1, "gpu": 0},
                                 "commands": ["true"]}}}"""
    assert check(text).job.protocol == "2"


@pytest.mark.parametrize("file", PUBLISHED, ids=lambda file: file.stem)
def test_published_files_compile_or_name_their_fault(file: Path) -> None:
    """Role names with a hyphen are the one fault that they have."""
    try:
        compiled = compile_job(file.read_bytes(), file=file.name)
    except PaislurmError as error:
        assert {diagnostic.code for diagnostic in error.diagnostics} == {"E204"}
        assert '"g2p-train"' in file.read_text(encoding="utf-8")
    else:
        assert compiled.job.protocol == "1"
        assert compiled.script.startswith("#!/bin/bash -p\n")
