"""Secrets pass through the compiler by name: what the script holds, and what the task makes of it."""

from __future__ import annotations

import re
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from paislurm.translator.errors import ProtocolError
from paislurm.translator.protocol.expressions.secrets import TAG
from paislurm.translator.protocol.validate import Checked, validate
from paislurm.translator.reading.document import Value
from paislurm.translator.reading.read import read

from .jobs import JOB, changed

RUNTIME = files("paislurm").joinpath("templates", "runtime")
BASH = """
set -u; source common/messages.sh; source task/secrets.sh
PSL_SECRETS_FOLDER=$1; insert_secrets "$2"; printf %s ${PSL_PIECES[@]+"${PSL_PIECES[@]}"}
"""


def checked(
    command: str,
    secrets: dict[str, Value],
    parameters: dict[str, Value] | None = None,
    data: dict[str, Value] | None = None,
    *,
    keep: bool = False,
) -> Checked:
    file = changed(JOB, "taskRoles/worker/commands", [command])
    if data:
        file = changed(changed(file, "prerequisites/1", data), "taskRoles/worker/data", "set")
        file = changed(file, "taskRoles/worker/prerequisites", ["set"])
    if keep:
        file = changed(file, "extras/slurm/compat/unresolved", "keep")
    document = read(yaml.safe_dump(file, sort_keys=False), file="job.yaml")
    root = {**document.mapping(()), "parameters": parameters or {}}
    return validate(replace(document, root=root), secrets=secrets)


def as_the_task_runs_it(found: Checked, folder: Path, text: str | None = None) -> str:
    """Return a text, the command, with its secrets, put in by the script's own bash."""
    for name, value in found.secrets.items():
        (folder / name).write_bytes(value.encode())
    (folder / "commands").write_bytes((found.job.roles[0].command.text if text is None else text).encode())
    argv = ["bash", "-c", BASH, "bash", str(folder), str(folder / "commands")]
    return subprocess.run(argv, cwd=str(RUNTIME), capture_output=True, check=True).stdout.decode()


def test_the_job_contains_only_names_of_secrets() -> None:
    secrets: dict[str, Value] = {"token": "v4lue", "db": {"users": ["alice", {"key/é": 7.0}]}, "unused": "1"}
    found = checked("a <%$secrets.token%> b <% $secrets.db.users[1].key/é %> <% $secrets.db.users.0 %>", secrets)
    assert found.job.secrets == ("token", "db.users.1.key%2F%C3%A9", "db.users.0")
    assert found.secrets == {"token": "v4lue", "db.users.1.key%2F%C3%A9": "7", "db.users.0": "alice"}
    assert found.job.roles[0].command.text == (
        "a <% $secrets.token %> b <% $secrets.db.users.1.key%2F%C3%A9 %> <% $secrets.db.users.0 %>"
    )
    assert "v4lue" not in repr(found)


def test_a_job_without_references_has_no_secrets() -> None:
    found = checked("echo", {"token": "v4lue"})
    assert (found.job.secrets, found.secrets) == ((), {})


def test_whitespace_around_a_secret_is_kept(tmp_path: Path) -> None:
    found = checked("<% $secrets.token %>", {"token": "\n a\n\n"})
    assert as_the_task_runs_it(found, tmp_path) == "\n a\n\n"


PIECES = st.one_of(
    st.sampled_from(["\n", "'", '"', "\\", "&", "$", "`", "<", "%", " ", TAG, " %>", "<% $secrets.b %>"]),
    st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]),
)
NASTY = st.lists(PIECES, max_size=20).map("".join)


def put_in(text: str, secrets: dict[str, str]) -> str | None:
    """Return what OpenPAI made of a text that has all values but the secrets; None where it dropped something."""
    found = {f"$secrets.{name}": value for name, value in secrets.items()}
    names = [name.strip() for name in re.findall("<%(.*?)%>", text, re.DOTALL)]
    if not found.keys() >= set(names):
        return None
    return re.sub("<%(.*?)%>", lambda match: found[match[1].strip()], text, flags=re.DOTALL)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NASTY, NASTY, NASTY)
def test_inserted_secrets_equal_the_given_values(tmp_path: Path, a: str, b: str, parameter: str) -> None:
    secrets: dict[str, Value] = {"a": a, "b": b}
    command = "x <% $secrets.a %>-<% $parameters.p %>% $secrets.a %><% $secrets.b %> y"
    expected = put_in(f"-{parameter}% $secrets.a %>", {"a": a, "b": b})
    if expected is None:
        with pytest.raises(ProtocolError) as error:
            checked(command, secrets, {"p": parameter})
        assert {diagnostic.code for diagnostic in error.value.diagnostics} <= {"E311", "E313", "E314", "E320"}
    else:
        found = checked(command, secrets, {"p": parameter})
        assert as_the_task_runs_it(found, tmp_path) == f"x {a}{expected}{b} y"


@pytest.mark.parametrize(
    ("command", "result"),
    [
        ("<% $parameters.url %>", "https://user:v4lue@host/x"),
        ("curl '<% $parameters.list %>'", "curl 'a,v4lue'"),
        ("<% $parameters.inner.url %> <% $secrets.token %>", "v4lue v4lue"),
        ("<% $data.uri[0] %>", "s3://v4lue/x"),
        ("<% $parameters.open %> $secrets.token %>", "v4lue"),
    ],
)
def test_a_secret_in_a_value_is_inserted(command: str, result: str, tmp_path: Path) -> None:
    parameters: dict[str, Value] = {
        "url": "https://user:<% $secrets.token %>@host/x",
        "list": ["a", "<%$secrets.token%>"],
        "inner": {"url": "<% $secrets.token %>"},
        "open": "<%",
    }
    data: dict[str, Value] = {"name": "set", "type": "data", "uri": ["s3://<% $secrets.token %>/x"]}
    found = checked(command, {"token": "v4lue"}, parameters, data)
    assert found.job.secrets == ("token",)
    assert as_the_task_runs_it(found, tmp_path) == result


def test_a_secret_in_a_prerequisite_is_inserted(tmp_path: Path) -> None:
    commands = ["clone <% $parameters.url %> <% this.parameters.more %>"]
    data: dict[str, Value] = {
        "name": "set",
        "type": "data",
        "more": "<% $parameters.url %>",
        "callbacks": [{"event": "taskStarts", "commands": commands}],
    }
    found = checked("true", {"token": "v4lue"}, {"url": "x:<% $secrets.token %>@h"}, data)
    script = found.job.roles[0].hooks.resolved[0].scripts[0]
    assert as_the_task_runs_it(found, tmp_path, script.text) == "clone x:v4lue@h x:v4lue@h"


@pytest.mark.parametrize(
    ("value", "secrets", "code"),
    [
        ("<% $secrets.tokn %>", {"token": "1"}, "E313"),
        ("<% $secrets.token %>", {}, "E313"),
        ("<% $secrets %>", {"token": "1"}, "E314"),
        ("<% $parameters.other %>", {"token": "1"}, "E320"),
        ("<%# $secrets.token %>", {"token": "1"}, "E320"),
    ],
)
def test_a_reference_in_a_value_is_never_dropped(value: str, secrets: dict[str, Value], code: str) -> None:
    with pytest.raises(ProtocolError) as error:
        checked("echo\necho <% $parameters.x %>", secrets, {"x": value, "other": "1"})
    assert [diagnostic.code for diagnostic in error.value.diagnostics] == [code]


def test_a_reference_in_a_value_can_be_kept(tmp_path: Path) -> None:
    values: dict[str, Value] = {"a": "<%$secrets.no%>", "b": "<%$parameters.a%>", "c": "<% $secrets.token %>"}
    command = "<% $parameters.a %> <% $parameters.b %> <% $parameters.c %> <% $parameters.none %>"
    found = checked(command, {"token": "v4lue"}, values, keep=True)
    assert [diagnostic.code for diagnostic in found.warnings] == ["W305", "W320", "W305"]
    assert as_the_task_runs_it(found, tmp_path) == "<%$secrets.no%> <%$parameters.a%> v4lue <% $parameters.none %>"


def test_a_kept_reference_to_no_secret_is_text_beside_a_secret(tmp_path: Path) -> None:
    found = checked("<% $secrets.none %> <% $secrets.token %>", {"token": "v4lue"}, keep=True)
    assert as_the_task_runs_it(found, tmp_path) == "<% $secrets.none %> v4lue"


def test_without_secrets_other_references_in_a_value_are_text() -> None:
    assert checked("<% $parameters.a %>", {}, {"a": "<% $parameters.b %>"}).job.roles[0].command.text == (
        "<% $parameters.b %>"
    )
