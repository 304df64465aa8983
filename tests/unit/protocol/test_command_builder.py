"""A role's commands, and the parameters that stand in them."""

from __future__ import annotations

import pytest

from paislurm.translator.errors import ProtocolError
from paislurm.translator.protocol.overrides import value_of
from paislurm.translator.protocol.validate import validate
from paislurm.translator.reading.read import read

from .jobs import HEAD, check, job

COMMANDS = (
    HEAD
    + """\
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
)


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
def test_the_assembled_command_is_stripped(commands: list[str]) -> None:
    command = check(job("taskRoles/worker/commands", commands)).job.roles[0].command
    assert command.text == "a"
    assert dict(command.lines)[0] > 0


def test_command_line_parameters_override_those_of_the_file() -> None:
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
def test_command_line_values_are_parsed(word: str, value: object) -> None:
    assert value_of(word) == value
