"""Secrets pass through the compiler by name: what the script holds, and what the task makes of it."""

from __future__ import annotations

import subprocess
from importlib.resources import files
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paislurm.translator.protocol.read import read
from paislurm.translator.protocol.secrets import TAG
from paislurm.translator.protocol.validate import Checked, validate

from .jobs import job

if TYPE_CHECKING:
    from pathlib import Path

    from paislurm.translator.protocol.document import Value

RUNTIME = files("paislurm").joinpath("templates", "runtime")
BASH = """
set -u; source common/messages.sh; source task/secrets.sh
SECRETS_FOLDER=$1; insert_secrets "$2"; printf %s "$TEXT"
"""


def checked(command: str, secrets: dict[str, Value], parameters: dict[str, Value] | None = None) -> Checked:
    text = job("taskRoles/worker/commands", [command])
    document = read(text, file="job.yaml")
    root = {**document.mapping(()), "parameters": parameters or {}}
    object.__setattr__(document, "root", root)
    return validate(document, secrets=secrets)


def as_the_task_runs_it(found: Checked, folder: Path) -> str:
    """Return the command with its secrets, put in by the script's own bash."""
    for name, value in found.secrets.items():
        (folder / name).write_bytes(value.encode())
    (folder / "commands").write_bytes(found.job.roles[0].command.text.encode())
    argv = ["bash", "-c", BASH, "bash", str(folder), str(folder / "commands")]
    return subprocess.run(argv, cwd=str(RUNTIME), capture_output=True, check=True).stdout.decode()


def test_only_names_are_in_the_job() -> None:
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


def test_the_space_around_a_secret_is_its_own(tmp_path: Path) -> None:
    found = checked("<% $secrets.token %>", {"token": "\n a\n\n"})
    assert as_the_task_runs_it(found, tmp_path) == "\n a\n\n"


PIECES = st.one_of(
    st.sampled_from(["\n", "'", '"', "\\", "&", "$", "`", "<", "%", " ", TAG, " %>", "<% $secrets.b %>"]),
    st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]),
)
NASTY = st.lists(PIECES, max_size=20).map("".join)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NASTY, NASTY, NASTY)
def test_what_is_put_in_is_what_was_written(tmp_path: Path, a: str, b: str, parameter: str) -> None:
    command = "x <% $secrets.a %>-<% $parameters.p %>% $secrets.a %><% $secrets.b %> y"
    found = checked(command, {"a": a, "b": b}, {"p": parameter})
    assert as_the_task_runs_it(found, tmp_path) == f"x {a}-{parameter}% $secrets.a %>{b} y"
