"""What OpenPAI's server accepted and refused, one row each; test_stricter.py has what is refused here alone.

Source: PAI rest-server.
"""

from __future__ import annotations

import pytest
import yaml

from paislurm.translator.errors import ProtocolError

from .jobs import GONE, check, job
from .openpai.server import refusal

ROLE = "taskRoles/worker"
RESOURCES = f"{ROLE}/resourcePerInstance"
PLUGINS = "com.microsoft.pai.runtimeplugin"
DATA = {"name": "d", "type": "data"}
SCRIPT = {"name": "s", "type": "script"}

ACCEPTED = [
    ("protocolVersion", "2"),
    ("protocolVersion", 2.0),
    ("name", "a" * 255),
    ("version", 1.5),
    ("version", "1.0-r1.4"),
    (f"{ROLE}/instances", 1.0),
    (f"{ROLE}/completion", {}),
    (f"{ROLE}/completion", {"minFailedInstances": None}),
    (f"{ROLE}/completion", {"minFailedInstances": 100}),
    (f"{ROLE}/completion", {"minSucceededInstances": -1}),
    (f"{ROLE}/taskRetryCount", -2),
    (f"{RESOURCES}/cpu", 0),
    (f"{RESOURCES}/gpu", -1),
    (f"{RESOURCES}/ports", None),
    (f"{RESOURCES}/ports", {"a": 0}),
    (f"{ROLE}/extraContainerOptions", {"anything": [1]}),
    (f"{ROLE}/extraContainerOptions", {"infiniband": "yes"}),
    (f"{ROLE}/commands", [""]),
    (f"{ROLE}/protocolVersion", 2),
    (f"{ROLE}/protocolVersion", "2"),
    ("prerequisites/0/protocolVersion", 2),
    ("prerequisites/0/protocolVersion", "2"),
    ("deployments", [{"name": "d", "protocolVersion": 2, "taskRoles": {"worker": {}}}]),
    ("extras", {PLUGINS: [{"plugin": "tensorboard"}]}),
    ("extras", {PLUGINS: [{"plugin": "tensorboard", "parameters": {}}]}),
    ("extras", {PLUGINS: [{"plugin": "ssh", "parameters": {"jobssh": "True", "sshbarrier": "false"}}]}),
    ("extras", {"storages": [{"mountPath": "/x"}, {"name": None}, {"name": ""}]}),
    ("prerequisites/1", DATA),
    ("prerequisites/1", {**DATA, "uri": []}),
    ("prerequisites/1", {**SCRIPT, "callbacks": "whatever", "failurePolicy": 5, "require": []}),
    ("prerequisites/0/auth", {"username": "me", "anything": "else"}),
    ("parameters", {"a": [1, {"b": None}]}),
    ("secrets", {"a": {"b": "nested"}}),
    ("deployments", [{"name": "d", "taskRoles": {"nobody": {}}}]),
    ("deployments", [{"name": "d", "taskRoles": {"worker": {}}, "more": 1}]),
    ("defaults", {"anything": 1}),
    ("extras", {}),
    ("extras", {"anything": None}),
]
REJECTED = [
    ("prerequisites", []),
    ("prerequisites", GONE),  # the schema has no objection, but the role's image is then missing
    ("protocolVersion", GONE),
    ("protocolVersion", 1),
    ("protocolVersion", True),
    ("name", GONE),
    ("name", ""),
    ("name", "my.job"),
    ("name", "job\n"),
    ("name", 5),
    ("name", "a" * 256),
    ("type", GONE),
    ("type", "task"),
    ("version", None),
    ("version", True),
    ("description", 5),
    ("taskRoles", {}),
    ("taskRoles", GONE),
    ("taskRoles/ps-server", {}),
    ("taskRoles/1w", {}),
    (f"{ROLE}/instances", 0),
    (f"{ROLE}/instances", "2"),
    (f"{ROLE}/instances", True),
    (f"{ROLE}/instances", 1.5),
    (f"{ROLE}/instances", None),
    (f"{ROLE}/completion", None),
    (f"{ROLE}/completion", {"minFailed": 1}),
    (f"{ROLE}/completion", {"minFailedInstances": "1"}),
    ("jobRetryCount", -1),
    ("jobRetryCount", None),
    (RESOURCES, GONE),
    (f"{RESOURCES}/cpu", 0.5),
    (f"{RESOURCES}/gpu", GONE),
    (f"{RESOURCES}/disk", 1),
    (f"{RESOURCES}/ports", {}),
    (f"{RESOURCES}/ports", {"tf-port": 1}),
    (f"{RESOURCES}/ports", {"web": "1"}),
    (f"{ROLE}/commands", []),
    (f"{ROLE}/commands", [5]),
    (f"{ROLE}/commands", "python train.py"),
    (f"{ROLE}/dockerImage", None),
    (f"{ROLE}/unknown", 1),
    (f"{ROLE}/protocolVersion", 1),
    (f"{ROLE}/protocolVersion", None),
    (f"{ROLE}/protocolVersion", True),
    ("prerequisites/0/protocolVersion", 3),
    ("prerequisites/0/protocolVersion", "2.0"),
    ("prerequisites/1", {**DATA, "protocolVersion": "x"}),
    ("prerequisites/1", {**SCRIPT, "protocolVersion": 2.5}),
    ("deployments", [{"name": "d", "protocolVersion": 1, "taskRoles": {"worker": {}}}]),
    ("defaults", {"deployment": None}),
    ("defaults", {"deployment": ""}),
    ("unknown", 1),
    ("prerequisites/0/unknown", 1),
    ("prerequisites/0/uri", GONE),
    ("prerequisites/0/type", GONE),
    ("prerequisites/0/name", GONE),
    ("prerequisites/0/auth", {"username": 5}),
    ("prerequisites/1", {**SCRIPT, "uri": ["a"]}),
    ("prerequisites/1", {**DATA, "uri": "a"}),
    ("prerequisites/1", {**DATA, "plugin": 5}),
    ("parameters", None),
    ("parameters", []),
    ("secrets", "******"),
    ("deployments", []),
    ("deployments", [{"name": "d"}]),
    ("deployments", [{"name": "d", "taskRoles": {"worker": {"preCommands": []}}}]),
    ("deployments", [{"name": "d", "taskRoles": {"worker": {"commands": ["x"]}}}]),
    ("extras", None),
    ("extras", []),
]


def _shown(row: object) -> str:
    if row is GONE:
        return "gone"
    return str(row)[:60] if not isinstance(row, str) else row


@pytest.mark.parametrize(("path", "value"), ACCEPTED, ids=_shown)
def test_accepted(path: str, value: object) -> None:
    assert refusal(yaml.safe_load(job(path, value))) == ""
    assert check(job(path, value)).job.name


@pytest.mark.parametrize(("path", "value"), REJECTED, ids=_shown)
def test_rejected(path: str, value: object) -> None:
    assert refusal(yaml.safe_load(job(path, value)))
    with pytest.raises(ProtocolError):
        check(job(path, value))


@pytest.mark.parametrize(
    ("path", "value", "diagnostic"),
    [
        ("[key]", 1, ('$["[key]"]', "unknown key `[key]`")),
        ("taskRoles/worker/[key]", 1, ('$.taskRoles.worker["[key]"]', "unknown key `[key]`")),
        ("taskRoles/[key]/instances", 1, ('$.taskRoles["[key]"]', "expected a role name")),
    ],
)
def test_a_key_that_resembles_a_validator_keyword_is_located(
    path: str, value: object, diagnostic: tuple[str, str]
) -> None:
    with pytest.raises(ProtocolError) as error:
        check(job(path, value))
    assert any(
        found.path == diagnostic[0] and found.message.startswith(diagnostic[1]) for found in error.value.diagnostics
    )
