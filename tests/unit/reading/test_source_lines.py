"""Messages show the line of the file, but never one that can hold a secret."""

from __future__ import annotations

import pytest

from paislurm.translator.errors import ProtocolError, diagnostics_text
from paislurm.translator.protocol.validate import validate
from paislurm.translator.reading.read import read

JOB = """\
protocolVersion: 2
name: demo
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: x, auth: {username: joe, password: hunter2, registryuri: [hunter2]}}
taskRoles:
  worker:
    dockerImage: image
    instances: none
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands: [ls]
"""
SECRETS = """\
secrets:
  token:
    - hunter2
  more: {a: {b: hunter2}}
"""


def said(text: str) -> str:
    try:
        validate(read(text, file="job.yaml"))
    except ProtocolError as error:
        return diagnostics_text(error.diagnostics)
    return ""


@pytest.mark.parametrize(
    "text",
    [
        JOB + SECRETS,
        JOB + "secrets: hunter2\n",
        JOB + "secret: {token: hunter2}\n",
        JOB + "Secrets: {token: hunter2}\n",
        JOB + "secerts: {token: hunter2}\n",
        JOB + "auths: {token: hunter2}\n",
        JOB.replace("auth:", "Auth:"),
        JOB + "---\n- hunter2\n",
        JOB + "---\na: {b: hunter2}\n",
        JOB + SECRETS.replace("    - hunter2", "    - 'hunter2"),  # cannot be read
        JOB + SECRETS + "  more: {a: hunter2}\n",  # the same key again
        JOB + "secrets: {\ntoken: hunter2, token: hunter2\n}\n",
        JOB + "'secrets':\n  token: `hunter2\n",
        '{"jobName": "demo", "secrets": {"a": "hunter2"}',
        JOB + "---\na: b\n---\nhunter2: [\n",
        JOB.replace("none", "1") + "extras: {pairs: !!pairs [auth: &a hunter2, instances: *a], slurm: hunter}\n",
    ],
)
def test_no_line_with_a_secret_is_shown(text: str) -> None:
    message = said(text)
    assert "error E" in message
    assert "hunter2" not in message


def test_no_line_is_shown_if_secrets_have_an_alias() -> None:
    text = JOB.replace("[ls]", "[ls, &a hunter2]") + "secrets: {token: *a}\n"
    message = said(text)
    assert "job.yaml:9:16" in message
    assert "hunter2" not in message
    assert " | " not in message


def test_other_lines_are_shown() -> None:
    assert "  9 |     instances: none\n    |                ^" in said(JOB + SECRETS)


def test_an_unparsable_file_is_shown_up_to_its_secrets() -> None:
    assert "  2 | name: `demo\n    |       ^" in said(JOB.replace("name: demo", "name: `demo") + SECRETS)
    assert " | " not in said(SECRETS + JOB.replace("name: demo", "name: `demo"))
