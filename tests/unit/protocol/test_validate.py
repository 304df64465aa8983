"""What a job file means: defaults, decisions, commands, wishes. Messages are in tests/rejected."""

from __future__ import annotations

import contextlib
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from paislurm.translator.errors import ProtocolError
from paislurm.translator.job import Completion, Lines, PortRequest, Resources
from paislurm.translator.protocol.extras import OURS
from paislurm.translator.protocol.overrides import value_of
from paislurm.translator.protocol.read import read
from paislurm.translator.protocol.validate import Checked, validate
from paislurm.translator.wishes import RoleWishes, Switches

from .jobs import JOB, ROLE, changed, check, job

PLUGINS = "extras/com.microsoft.pai.runtimeplugin"


def codes(checked: Checked) -> list[str]:
    """Return the codes of the warnings."""
    return [fault.code for fault in checked.warnings]


def error_codes(text: str) -> list[str]:
    """Return the codes of the errors of a job file."""
    with pytest.raises(ProtocolError) as caught:
        check(text)
    return [fault.code for fault in caught.value.faults]


def test_defaults() -> None:
    checked = check(job())
    assert not checked.warnings
    found = checked.job
    assert (found.protocol, found.name, found.virtual_cluster, found.retry_limit) == (
        "2",
        "demo",
        "default",
        0,
    )
    assert found.gang
    assert found.wishes.layout is None
    assert found.wishes.job == RoleWishes()
    [role] = found.roles
    assert (role.name, role.controller_name, role.instances, role.task_retry_limit) == (
        "worker",
        "worker",
        1,
        0,
    )
    assert role.completion == Completion(min_failed=1, min_succeeded=-1)
    assert role.resources == Resources(
        cpus=1, memory_mib=1024, gpus=0, shm_mib=512, declared_shm_mib=0, infiniband=False
    )
    assert role.ports == (PortRequest(label="ssh", count=1), PortRequest(label="http", count=1))
    assert (role.image.name, role.image.uri) == ("image", "python:3.11")
    assert role.command.text == "python train.py"
    assert role.command.errexit
    assert role.command.nounset
    assert role.command.pipefail
    assert role.lines == Lines(first=9, last=16)


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


def test_ports_stand_in_their_order_and_the_implicit_ones_follow() -> None:
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
def test_completion(completion: dict[str, Any], expected: tuple[int, int], warnings: list[str]) -> None:
    checked = check(job("taskRoles/worker/completion", completion))
    found = checked.job.roles[0].completion
    assert (found.min_failed, found.min_succeeded) == expected
    assert codes(checked) == warnings


def test_min_succeeded_can_be_the_number_of_instances() -> None:
    roles = {"a": {**ROLE, "instances": 3}, "b": {**ROLE, "completion": {"minSucceededInstances": 1}}}
    base = changed(JOB, "taskRoles", roles)
    assert codes(check(yaml.safe_dump(base))) == ["W202"]
    chosen = check(yaml.safe_dump(changed(base, "extras/slurm/compat/minSucceeded", "instances")))
    assert [role.completion.min_succeeded for role in chosen.job.roles] == [3, 1]
    assert not chosen.warnings
    by_site = validate(read(yaml.safe_dump(base), file="job.yaml"), defaults=Switches(min_succeeded="instances"))
    assert [role.completion.min_succeeded for role in by_site.job.roles] == [3, 1]


def test_switches_of_the_job_overrule_those_of_the_site() -> None:
    site = Switches(job_name="full", nounset=False, exit_patterns="original", unresolved="keep")
    assert validate(read(job(), file="j"), defaults=site).job.compat.job_name == "full"
    text = job("extras/slurm/compat", {"jobName": "plain", "nounset": True, "exitPatterns": "mended"})
    found = validate(read(text, file="j"), defaults=site).job
    assert (found.compat.job_name, found.compat.exit_patterns) == ("plain", "mended")
    assert found.roles[0].command.nounset
    text = job("taskRoles/worker/commands", ["echo <% $parameters.x %>"])
    assert validate(read(text, file="j"), defaults=site).job.roles[0].command.text == "echo <% $parameters.x %>"


COMMANDS = """\
protocolVersion: 2
name: demo
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: 'python:3.11'}
  - {name: set, type: data, uri: [https://a]}
parameters:
  lr: 1e-3
  two: |
    x
    y
taskRoles:
  worker:
    dockerImage: image
    data: set
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands:
      - "  python train.py \\\\  "
      - |

        cat <<EOF
        <% $parameters.two %>
        EOF
      - >-
        echo <% $parameters.lr %>
        <% $data.uri[0] %>
      - ''
deployments:
  - name: prod
    taskRoles:
      worker:
        preCommands: [cd /data, 'x=<% $data.name %>']
        postCommands:
          - date
  - name: test
    taskRoles: {worker: {preCommands: ['false']}}
defaults: {deployment: prod}
"""


def test_commands_are_assembled() -> None:
    command = check(COMMANDS).job.roles[0].command
    assert command.text.split("\n") == [
        "cd /data",
        "x=set",
        "python train.py \\",
        "cat <<EOF",
        "x",
        "y",
        "",
        "EOF",
        "echo 0.001 https://a",
        "",
        "date",
    ]
    assert dict(command.lines) == {0: 32, 1: 32, 2: 18, 3: 21, 4: 22, 7: 23, 8: 25, 9: 27, 10: 34}


@pytest.mark.parametrize("commands", [["", "a"], ["\n\n", "a", " "], ["a", ""]])
def test_the_whole_is_stripped(commands: list[str]) -> None:
    command = check(job("taskRoles/worker/commands", commands)).job.roles[0].command
    assert command.text == "a"
    assert dict(command.lines)[0] > 0


def test_parameters_of_the_command_line_take_the_place_of_the_files() -> None:
    text = job("taskRoles/worker/commands", ["echo <% $parameters.x %>"])
    text += "parameters: {x: 1, y: 2}\n"
    found = validate(read(text, file="j"), parameters={"x": "1e-3"}, name="other").job
    assert found.name == "other"
    assert found.roles[0].command.text == "echo 0.001"
    with pytest.raises(ProtocolError, match="did you mean `x`"):
        validate(read(text, file="j"), parameters={"xx": "1"})


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("", ""),
        ("''", ""),
        ("5", 5),
        ("'5'", "5"),
        ('"a"', "a"),
        ("a: b", "a: b"),
        ("[1", "[1"),
        ("true", True),
        ("'", "'"),
    ],
)
def test_words_of_the_command_line(word: str, value: object) -> None:
    assert value_of(word) == value


@pytest.mark.parametrize(
    ("written", "limit"),
    [
        ("60", timedelta(hours=1)),
        ("010", timedelta(minutes=10)),
        ("90.0", None),
        ("2:30", timedelta(minutes=2, seconds=30)),
        ("1:30:00", timedelta(minutes=90)),
        ("01:30:00", timedelta(minutes=90)),
        ("'1:30:00'", timedelta(minutes=90)),
        ("36:00:00", timedelta(hours=36)),
        ("1-12", timedelta(days=1, hours=12)),
        ("1-12:30", timedelta(days=1, hours=12, minutes=30)),
        ("7-00:00:01", timedelta(days=7, seconds=1)),
        ("2020-01-01", None),
        ("0", None),
        ("0:00", None),
        ("-5", None),
        ("1:2:3:4", None),
        ("1::2", None),
        ("':30'", None),
        ("1-", None),
        ("unlimited", None),
        ("'60\n'", None),
        ("true", None),
        ("99999999999999", None),
    ],
)
def test_time_limits(written: str, limit: timedelta | None) -> None:
    """YAML reads 1:30:00 as 5400 and 010 as 8; Slurm and the user mean 90 minutes and 10 minutes."""
    text = job() + f"extras:\n  slurm:\n    time: {written}\n"
    if limit is None:
        assert error_codes(text) == ["E203"]
    else:
        assert check(text).job.wishes.job.time == limit


@pytest.mark.parametrize("value", ["a b", "a\nb", "a'b", 'a"b', "a\\b", "a#b", "", "\x1b", "a\u2028b", 5, None])
@pytest.mark.parametrize("key", ["account", "partition", "constraint"])
def test_values_that_cannot_stand_in_an_sbatch_line(key: str, value: object) -> None:
    text = job(f"extras/slurm/{key}", value)
    if value is None:
        assert check(text).job.wishes.job == RoleWishes()
    else:
        assert error_codes(text) == ["E203"]


@pytest.mark.parametrize("constraint", ["a100|v100", "[rack1|rack2]", "ib&gpu*4", "(a|b)&c"])
def test_constraints(constraint: str) -> None:
    assert check(job("extras/slurm/constraint", constraint)).job.wishes.job.constraint == constraint


@pytest.mark.parametrize("hosts", ["node1", "node[01-04,7],gpu-3.cluster", "n[1-2]m[3-4]"])
def test_host_lists(hosts: str) -> None:
    wishes = check(job("extras/slurm", {"exclude": hosts, "nodelist": hosts})).job.wishes.job
    assert (wishes.exclude, wishes.nodelist) == (hosts, hosts)


@pytest.mark.parametrize("hosts", ["", ",", "a,", "a,,b", "node[1-", "node]", "/etc/hosts", "a b", "-x", "node[]"])
def test_no_host_lists(hosts: str) -> None:
    assert error_codes(job("extras/slurm/exclude", hosts)) == ["E203"]


@pytest.mark.parametrize("option", ["--nice=5", "--exclusive", "--licenses=a:1", "--hint=nomultithread", "--begin=now"])
def test_raw_options(option: str) -> None:
    assert check(job("extras/slurm/options", [option])).job.wishes.job.options == (option,)


@pytest.mark.parametrize(
    "option", ["nice=5", "-N4", "--", "--nice 5", "--nice=5\n--wrap=id", "--nice=", "--Nice=5", 5, "--x=a'b"]
)
def test_no_raw_options(option: object) -> None:
    assert error_codes(job("extras/slurm/options", [option])) == ["E203"]


@pytest.mark.parametrize("name", sorted(OURS))
def test_options_of_ours_and_their_abbreviations_are_refused(name: str) -> None:
    assert error_codes(job("extras/slurm/options", [f"--{name}", f"--{name}=1", f"--{name[:-1]}=1"])) == ["E207"] * 3


def test_wishes_of_a_role() -> None:
    slurm = {
        "layout": "shared",
        "partition": "cpu",
        "taskRoles": {"worker": {"partition": "gpu", "slots": 2, "options": ["--nice=1"]}},
    }
    checked = check(job("extras", {"slurm": slurm, "gangAllocation": False}))
    assert not checked.warnings
    assert checked.job.wishes.layout == "shared"
    assert checked.job.wishes.job.partition == "cpu"
    assert checked.job.roles[0].wishes == RoleWishes(partition="gpu", slots=2, options=("--nice=1",))


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
def test_what_does_nothing_does_not_keep_a_job_from_being_submitted(extras: dict[str, Any]) -> None:
    assert not check(job("extras", extras)).warnings


def test_prerequisites_that_do_nothing() -> None:
    text = changed(JOB, "prerequisites/1", {"name": "set", "type": "data", "uri": ["x"]})
    text = changed(text, "prerequisites/2", {"name": "tools", "type": "script", "plugin": "com.x", "callbacks": []})
    text = changed(text, "taskRoles/worker/prerequisites", ["set", "image"])
    assert not check(yaml.safe_dump(text)).warnings


def test_storages_take_the_place_of_the_storage_plugin() -> None:
    plugin = {"plugin": "teamwise_storage", "parameters": {"storageConfigNames": ["a", "b"]}}

    def storages(**extras: object) -> list[tuple[str, str]] | None:
        found = check(job("extras", {"com.microsoft.pai.runtimeplugin": [plugin], **extras})).job.storages
        return found and [(each.name, each.mount_path) for each in found.wanted]

    assert storages() == [("a", "/mnt/a"), ("b", "/mnt/b")]
    assert storages(storages=[{"name": "x"}, {"name": "y", "mountPath": "/data"}]) == [("x", "/mnt/x"), ("y", "/data")]
    assert storages(storages=[]) == []
    plugin["parameters"] = {}
    assert storages() == []


def test_faults_of_all_kinds_are_told_at_once_and_in_order() -> None:
    text = """\
protocolVersion: 2
name: my.job
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: x}
taskRoles:
  worker:
    dockerImage: imag
    instance: 2
    resourcePerInstance: {cpu: 1, memoryMB: 1, gpu: 0}
    commands: [echo <% $parameters.x %>]
defaults: {deployment: prod}
"""
    assert error_codes(text) == ["E204", "E304", "E201", "E313", "E305"]


@pytest.mark.parametrize("value", [None, 5, "text", [1], {"a": [{"b": None}]}], ids=str)
@pytest.mark.parametrize(
    "path",
    [
        *(
            "prerequisites",
            "parameters",
            "secrets",
            "taskRoles",
            "taskRoles/worker",
            "deployments",
            "defaults",
            "extras",
        ),
        *(
            "prerequisites/0",
            "taskRoles/worker/prerequisites",
            "taskRoles/worker/commands",
            "taskRoles/worker/data",
        ),
        *(
            "prerequisites/0/type",
            "prerequisites/0/name",
            "defaults/deployment",
            "extras/slurm",
            "extras/storages",
        ),
        *(
            "extras/slurm/compat",
            "extras/slurm/taskRoles",
            "extras/slurm/options",
            "extras/hivedScheduler",
            PLUGINS,
        ),
        *("extras/hivedScheduler/taskRoles", "extras/jobStatusChangeNotification", "extras/slurm/time"),
    ],
)
def test_any_value_anywhere_is_right_or_refused(path: str, value: object) -> None:
    try:
        faults = check(job(path, value)).warnings
    except ProtocolError as error:
        faults = error.faults
    assert all(fault.place and fault.place.line for fault in faults)


def published() -> list[Path]:
    """Return the published job files, where this machine has them."""
    folder = os.environ.get("PAISLURM_OPENPAI_JOBS")
    return sorted(Path(folder, "v2").glob("*.yaml")) if folder else []


@pytest.mark.skipif(not published(), reason="PAISLURM_OPENPAI_JOBS names no folder of published job files")
@pytest.mark.parametrize("file", published(), ids=lambda file: file.stem)
def test_published_job_files(file: Path) -> None:
    document = read(file.read_bytes(), file=file.name)
    found = validate(document).job
    root = document.root
    assert isinstance(root, dict)
    assert [role.name for role in found.roles] == list(root["taskRoles"])
    for role in found.roles:
        assert role.command.text
        assert "<%" not in role.command.text


def _timed(root: dict[str, Any]) -> float:
    """Return the seconds that a file takes to be refused or validated."""
    text = yaml.dump(root, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False)
    start = time.monotonic()
    with contextlib.suppress(ProtocolError):
        check(text)
    return time.monotonic() - start


def test_large_jobs_end_in_time() -> None:
    many = 3000
    chain = [{"name": f"p{n}", "type": "script", "require": [f"p{(n + 1) % many}"]} for n in range(many)]
    assert _timed(changed(JOB, "prerequisites", [*JOB["prerequisites"], *chain])) < 10
    assert _timed(changed(JOB, "taskRoles", {f"r{n}": ROLE for n in range(many)})) < 10
    assert _timed(changed(JOB, "taskRoles/worker/prerequisites", [f"x{n}" for n in range(many)])) < 10
    assert _timed({**JOB, **{f"instance{n}": 1 for n in range(many)}}) < 10
    assert _timed(changed(JOB, "taskRoles/worker/commands", ["<% $parameters.x %>"] * many)) < 10


def test_a_wrong_password_is_not_shown() -> None:
    with pytest.raises(ProtocolError) as caught:
        check(job("prerequisites/0/auth", {"password": 12345}))
    assert "12345" not in str(caught.value)


def test_many_warnings_hide_no_error() -> None:
    nobody = {"name": "d", "taskRoles": {f"nobody{n}": {} for n in range(500)}}
    root = changed(changed(JOB, "deployments", [nobody]), "taskRoles/worker/data", "nothing")
    assert error_codes(yaml.safe_dump(root)) == ["E304"]
