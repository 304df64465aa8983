"""What a job file of protocol v1 means. Messages are in tests/rejected."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from paislurm.translator.errors import PaislurmError
from paislurm.translator.job import Completion, PortRequest
from paislurm.translator.pipeline import compile_job
from paislurm.translator.protocol.validate import validate
from paislurm.translator.reading.read import read
from paislurm.translator.slurm_options import CompatOptions

from .jobs import check
from .jobs_v1 import codes, job, meant, role

FOLDER = os.environ.get("PAISLURM_OPENPAI_JOBS")
PUBLISHED = sorted(Path(FOLDER).glob("v1/*.json")) if FOLDER else []


def test_null_thresholds_have_no_effect() -> None:
    assert role("minFailedTaskCount", None).completion == Completion(min_failed=-1, min_succeeded=-1)
    assert role("minSucceededTaskCount", 2).completion == Completion(min_failed=1, min_succeeded=2)


def test_given_shared_memory_is_shown() -> None:
    given, none = role("shmMB", 256).resources, role("shmMB", 0).resources
    assert (given.shm_mib, given.declared_shm_mib, none.shm_mib, none.declared_shm_mib) == (256, 256, 64, 0)


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
def test_commands_are_unchanged_except_for_a_lone_shell(command: str, text: str) -> None:
    found = role("command", command).command
    assert (found.text, found.errexit, found.nounset, found.pipefail) == (text, False, False, False)
    assert found.lines == ((0, 11),)
    assert ("W334" in codes("taskRoles/0/command", command)) == (text == "sleep infinity")


@pytest.mark.parametrize(("count", "warnings"), [(0, []), (2, []), (3, ["W333"])])
def test_kill_all_counts_the_tasks_of_all_roles(count: int, warnings: list[str]) -> None:
    assert check(job()).job.min_succeeded == -1
    assert meant("killAllOnCompletedTaskNumber", count).min_succeeded == count
    assert codes("killAllOnCompletedTaskNumber", count) == warnings


@pytest.mark.parametrize("key", ["minFailedTaskCount", "minSucceededTaskCount"])
def test_kill_all_has_no_effect_with_role_thresholds(key: str) -> None:
    base = job("killAllOnCompletedTaskNumber", 1).replace('"gpuNumber"', f'"{key}": null, "gpuNumber"')
    checked = check(base)
    assert checked.job.min_succeeded == -1
    assert [diagnostic.code for diagnostic in checked.warnings] == ["W333"]


def test_variables_are_converted_to_text_like_javascript() -> None:
    envs = {"i": 32, "f": 0.10, "e": 1e-7, "t": True, "n": None, "s": "a $HOME 'b'\n", "big": 2**60, "1st": 1}
    found = meant("jobEnvs", envs)
    assert found.program_variables == (("1st", "1"),)
    assert found.variables == (
        ("i", "32"),
        ("f", "0.1"),
        ("e", "1e-7"),
        ("t", "true"),
        ("n", ""),
        ("s", "a $HOME 'b'\n"),
        ("big", str(2**60)),
    )
    assert codes("jobEnvs", envs) == []


@pytest.mark.parametrize(("value", "on"), [(True, True), ("true", True), (False, False), ("yes", False), (1, False)])
def test_switches_in_the_variables_are_applied(value: object, on: bool) -> None:
    found = meant("jobEnvs", {"isDebug": value, "paiAzRDMA": value})
    assert (found.debug_hold is not None, found.roles[0].resources.infiniband) == (on, on)
    assert {name for name, _ in found.variables} == {"isDebug", "paiAzRDMA"}
    assert codes("jobEnvs", {"isDebug": value}).count("W332") == (value == "true")


def test_slurm_options_are_read_from_extras() -> None:
    slurm = {
        "time": "1:00:00",
        "layout": "het",
        "taskRoles": {"worker": {"qos": "high"}},
        "compat": {"jobName": "full"},
    }
    found = meant("extras/slurm", slurm)
    assert (found.slurm_options.layout, found.slurm_options.job.time) == ("het", timedelta(hours=1))
    assert (found.roles[0].slurm_options.pass_through, found.compat.job_name) == ({"qos": "high"}, "full")
    assert codes("extras/slurm", slurm) == []


def test_a_site_can_set_compat_options() -> None:
    document = read(job(), file="job.json")
    assert validate(document, defaults=CompatOptions(job_name="full")).job.compat.job_name == "full"


def test_the_name_can_be_changed() -> None:
    assert validate(read(job(), file="job.json"), name="a.b").job.name == "a.b"
    assert compile_job(job(), suffix="~2").job.name == "demo~2"


V2_IN_JSON = """{"protocolVersion": 2, "name": "demo", "type": "job",
    "prerequisites": [{"type": "dockerimage", "name": "image", "uri": "python:3.11"}],
    "taskRoles": {"worker": {"dockerImage": "image", "resourcePerInstance": {"cpu": 1, "memoryMB": 1, "gpu": 0},
                             "commands": ["true"]}}}"""


@pytest.mark.parametrize(
    ("text", "protocol"),
    [
        ("jobName: demo\nimage: python:3.11\ntaskRoles: [{name: worker, command: 'true'}]\n", "1"),
        ('{jobName: demo, image: "python:3.11", taskRoles: [{name: worker, command: "true"}]}', "1"),
        (V2_IN_JSON, "2"),
    ],
)
def test_both_protocols_can_be_written_as_yaml_and_json(text: str, protocol: str) -> None:
    assert check(text).job.protocol == protocol


@pytest.mark.parametrize("file", PUBLISHED, ids=lambda file: file.stem)
def test_published_files_compile_or_report_their_error(file: Path) -> None:
    """Role names with a hyphen are the one fault that they have."""
    try:
        compiled = compile_job(file.read_bytes(), file=file.name)
    except PaislurmError as error:
        assert {diagnostic.code for diagnostic in error.diagnostics} == {"E204"}
        assert '"g2p-train"' in file.read_text(encoding="utf-8")
    else:
        assert compiled.job.protocol == "1"
        assert compiled.script.startswith("#!/bin/bash -p\n")
