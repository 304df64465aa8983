"""The words of plugins, as OpenPAI's runtime read them."""

from __future__ import annotations

import json

import pytest

from paislurm.translator.errors import ProtocolError
from paislurm.translator.protocol.validate import Checked

from .jobs import JOB, changed, check, codes, error_codes

PLUGINS = "extras/com.microsoft.pai.runtimeplugin"


def with_plugin(plugin: dict[str, object]) -> Checked:
    file = changed(changed(JOB, PLUGINS, [plugin]), "parameters", {"yes": "TRUE", "no": False})
    return check(json.dumps(file))


def programs(plugin: dict[str, object]) -> list[str]:
    """Return what a plugin runs."""
    [made] = with_plugin(plugin).job.roles[0].hooks.plugins
    return [script.program for script in made.scripts]


@pytest.mark.parametrize("parameters", [{}, {"parameters": {}}, {"parameters": None}])
def test_tensorboard_without_parameters_is_ignored(parameters: dict[str, object]) -> None:
    assert programs({"plugin": "tensorboard", **parameters}) == []


@pytest.mark.parametrize(
    ("job_ssh", "barrier", "waits"),
    [
        (True, True, True),
        ("true", "true", True),
        ("True", "TRUE", True),
        ("<% $parameters.yes %>", True, True),
        (True, "<% $parameters.no %>", False),
        ("false", True, False),
        (True, "False", False),
    ],
)
def test_switches_of_ssh_may_be_text(job_ssh: object, barrier: object, waits: bool) -> None:
    parameters = {"jobssh": job_ssh, "sshbarrier": barrier}
    assert programs({"plugin": "ssh", "parameters": parameters}) == (["ssh"] if waits else [])


@pytest.mark.parametrize("value", ["yes", 1, None, ["true"]])
def test_invalid_switch_values_are_refused(value: object) -> None:
    with pytest.raises(ProtocolError) as error:
        with_plugin({"plugin": "ssh", "parameters": {"jobssh": value}})
    assert [diagnostic.code for diagnostic in error.value.diagnostics] == ["E203"]


@pytest.mark.parametrize(
    ("policy", "ignores", "warned"),
    [
        ("ignore", True, []),
        ("Ignore", True, []),
        ("IGNORE", True, []),
        ("Fail", False, []),
        ("never", False, ["W312"]),
        (5, False, ["W312"]),
    ],
)
def test_a_failure_policy_is_case_insensitive(policy: object, ignores: bool, warned: list[str]) -> None:
    found = with_plugin({"plugin": "cmd", "failurePolicy": policy, "parameters": {"preCommands": ["ls"]}})
    assert [each.ignore_failure for each in found.job.roles[0].hooks.plugins] == [ignores]
    assert codes(found) == warned


def with_data(*prerequisites: dict[str, object]) -> str:
    """Return a job whose role uses the first of these prerequisites."""
    listed = [*JOB["prerequisites"], *({"type": "data", **each} for each in prerequisites)]
    file = changed(changed(JOB, "prerequisites", listed), "parameters", {"host": "h"})
    return json.dumps(changed(file, "taskRoles/worker/prerequisites", [prerequisites[0]["name"]]))


def saying(text: str) -> list[dict[str, object]]:
    return [{"event": "taskStarts", "commands": [text]}]


def started(text: str) -> str:
    """Return what the only prerequisite with commands runs at the start."""
    [made] = [each for each in check(text).job.roles[0].hooks.resolved if each.scripts]
    return made.scripts[0].text


def test_a_prerequisite_inherits_keys_from_its_requirements() -> None:
    """Its own key counts, then what the required ones have, depth-first and in their order."""
    keys = ("own", "first", "deep", "uri[0]")
    callbacks = saying(" ".join(f"<% this.parameters.{key} %>" for key in keys))
    text = with_data(
        {"name": "a", "require": ["b", "c"], "own": "a", "callbacks": callbacks},
        {"name": "b", "require": ["d"], "own": "b", "first": "b"},
        {"name": "c", "first": "c", "deep": "c"},
        {"name": "d", "first": "d", "deep": "<% $parameters.host %>/d", "uri": ["u"]},
    )
    assert started(text) == "a b h/d u"


@pytest.mark.parametrize("key", ["description", "version", "preCommands", "nowhere"])
def test_the_identity_of_a_prerequisite_is_not_inherited(key: str) -> None:
    text = with_data(
        {"name": "a", "require": ["b"], "callbacks": saying(f"<% this.parameters.{key} %>")},
        {"name": "b", "description": "d", "version": "1", "preCommands": ["true"]},
    )
    assert error_codes(text) == ["E313"]


@pytest.mark.parametrize("place", ["prerequisite", "plugin"])
@pytest.mark.parametrize(
    ("plugin", "parameters", "code"),
    [
        ("cmd", {"preCommands": ["ls"], "callbacks": [{"event": "taskStarts", "commands": ["ls"]}]}, "E316"),
        ("cmd", {"callbacks": {"event": "taskStarts", "commands": ["ls"]}}, "E203"),
        ("cmd", {"callbacks": [{"commands": ["ls"]}]}, "E202"),
        ("cmd", {"callbacks": [{"event": "taskStarts", "commands": "ls"}]}, "E203"),
        ("cmd", {"preCommands": [5]}, "E203"),
        ("git", {"clone_dir": "code"}, "E202"),
        ("ssh", {"jobssh": 1}, "E203"),
        ("tensorboard", {"port": 1, "logdir": "/x"}, "E203"),
        ("cmd", {"preCommands": ["<% $parameters.none %>"]}, "E313"),
        ("shh", {}, "E317"),
    ],
)
def test_faults_of_an_ignored_plugin_are_warnings_if_openpai_ignored_them(
    plugin: str, parameters: dict[str, object], code: str, place: str
) -> None:
    """Openpai-runtime ran each of these jobs with the policy `ignore`, but the last two."""

    def file(policy: str) -> str:
        if place == "plugin":
            return json.dumps(
                changed(JOB, PLUGINS, [{"plugin": plugin, "parameters": parameters, "failurePolicy": policy}])
            )
        name = PLUGINS.partition("/")[2] + "." + plugin
        one = {"name": "p", "type": "script", "plugin": name, "failurePolicy": policy, **parameters}
        made = changed(JOB, "taskRoles/worker/prerequisites", ["p"])
        return json.dumps({**made, "prerequisites": [*made["prerequisites"], one]})

    with pytest.raises(ProtocolError) as error:
        check(file("fail"))
    assert {each.code for each in error.value.diagnostics} == {code}
    if code in ("E313", "E317"):
        with pytest.raises(ProtocolError):
            check(file("ignore"))
        return
    found = check(file("ignore"))
    assert [each.code for each in found.warnings] == ["W310"]
    hooks = found.job.roles[0].hooks
    assert [script for each in (*hooks.plugins, *hooks.resolved) for script in each.scripts] == []
