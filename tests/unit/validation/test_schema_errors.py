"""Whatever stands in a job file is valid or refused: all errors at once, in time, and none by accident."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from paislurm.translator.errors import ProtocolError
from paislurm.translator.protocol.validate import validate
from paislurm.translator.reading.read import read

from ..protocol.jobs import JOB, ROLE, changed, check, error_codes, job

PLUGINS = "extras/com.microsoft.pai.runtimeplugin"


def test_all_kinds_of_errors_are_reported_at_once_in_order() -> None:
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


@pytest.mark.parametrize(
    ("old", "new"),
    [("taskRoles", "taskRole"), ("commands", "command"), ("memoryMB", "memory"), ("type: job", "typ: job")],
)
def test_a_misspelt_key_is_not_also_reported_as_missing(old: str, new: str) -> None:
    text = yaml.safe_dump(JOB, sort_keys=False).replace(old, new, 1)
    with pytest.raises(ProtocolError) as error:
        check(text)
    (found,) = error.value.diagnostics
    assert (found.code, found.hint) == ("E201", f"did you mean `{old.partition(':')[0]}`?")


def test_a_misspelt_key_replaces_only_one_missing_key() -> None:
    text = yaml.safe_dump(JOB, sort_keys=False).replace("cpu: ", "gpux: ", 1).replace(" gpu: ", " other: ", 1)
    assert sorted(error_codes(text)) == ["E201", "E201", "E202"]


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
def test_any_value_anywhere_is_accepted_or_refused(path: str, value: object) -> None:
    try:
        diagnostics = check(job(path, value)).warnings
    except ProtocolError as error:
        diagnostics = error.diagnostics
    assert all(diagnostic.location and diagnostic.location.line for diagnostic in diagnostics)


def published() -> list[Path]:
    """Return the published job files, where this machine has them."""
    folder = os.environ.get("PAISLURM_OPENPAI_JOBS")
    return sorted(Path(folder, "v2").glob("*.yaml")) if folder else []


@pytest.mark.parametrize("file", published(), ids=lambda file: file.stem)
def test_published_job_files_are_accepted(file: Path) -> None:
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


@pytest.mark.slow("thousands of tasks and roles")
def test_large_jobs_are_validated_in_time() -> None:
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
