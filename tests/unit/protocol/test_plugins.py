"""The words of plugins, as OpenPAI's runtime read them."""

from __future__ import annotations

import json

import pytest

from paislurm.translator.errors import ProtocolError
from paislurm.translator.protocol.validate import Checked

from .jobs import JOB, changed, check, codes

PLUGINS = "extras/com.microsoft.pai.runtimeplugin"


def with_plugin(plugin: dict[str, object]) -> Checked:
    file = changed(changed(JOB, PLUGINS, [plugin]), "parameters", {"yes": "TRUE", "no": False})
    return check(json.dumps(file))


def programs(plugin: dict[str, object]) -> list[str]:
    """Return what a plugin runs."""
    [made] = with_plugin(plugin).job.roles[0].hooks.plugins
    return [script.program for script in made.scripts]


@pytest.mark.parametrize("parameters", [{}, {"parameters": {}}, {"parameters": None}])
def test_tensorboard_without_parameters_is_none(parameters: dict[str, object]) -> None:
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
def test_other_words_are_no_switches(value: object) -> None:
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
def test_the_case_of_a_failure_policy_means_nothing(policy: object, ignores: bool, warned: list[str]) -> None:
    found = with_plugin({"plugin": "cmd", "failurePolicy": policy, "parameters": {"preCommands": ["ls"]}})
    assert [each.ignore_failure for each in found.job.roles[0].hooks.plugins] == [ignores]
    assert codes(found) == warned
