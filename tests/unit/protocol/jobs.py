"""A small job file, to be changed in one place by each test."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from paislurm.translator.errors import Diagnostic, ProtocolError
from paislurm.translator.protocol.validate import Checked, validate
from paislurm.translator.reading.read import read

ROLE: dict[str, Any] = {
    "dockerImage": "image",
    "resourcePerInstance": {"cpu": 1, "memoryMB": 1024, "gpu": 0},
    "commands": ["python train.py"],
}
JOB: dict[str, Any] = {
    "protocolVersion": 2,
    "name": "demo",
    "type": "job",
    "prerequisites": [{"name": "image", "type": "dockerimage", "uri": "python:3.11"}],
    "taskRoles": {"worker": ROLE},
}
HEAD = """\
protocolVersion: 2
name: demo
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: "python:3.11"}
"""
"""The first lines of a job file, for tests that spell out the rest."""
GONE = object()
"""A value for keys that are to be left out."""


def changed(base: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return a copy with the value at a path such as `taskRoles/worker/instances` set, or out for `GONE`."""
    root = copy.deepcopy(base)
    *steps, last = [int(step) if step.isdecimal() else step for step in path.split("/")]
    inner: Any = root
    for step in steps:
        inner = inner[step] if isinstance(step, int) else inner.setdefault(step, {})
    if value is GONE:
        del inner[last]
    elif isinstance(inner, list) and last == len(inner):
        inner.append(value)
    else:
        inner[last] = value
    return root


def job(path: str = "", value: object = None) -> str:
    """Return the small job file, with one value set."""
    return yaml.safe_dump(changed(JOB, path, value) if path else JOB, sort_keys=False)


def check(text: str) -> Checked:
    """Read and validate a job file."""
    return validate(read(text, file="job.yaml"))


def codes(checked: Checked) -> list[str]:
    """Return the codes of the warnings."""
    return [diagnostic.code for diagnostic in checked.warnings]


def faults(text: str) -> tuple[Diagnostic, ...]:
    """Return the errors of a job file."""
    with pytest.raises(ProtocolError) as caught:
        check(text)
    return caught.value.diagnostics


def error_codes(text: str) -> list[str]:
    """Return the codes of the errors of a job file."""
    return [diagnostic.code for diagnostic in faults(text)]


def line_of(diagnostic: Diagnostic) -> int:
    """Return the line that a diagnostic is about, 0 for none."""
    return diagnostic.location.line if diagnostic.location else 0
