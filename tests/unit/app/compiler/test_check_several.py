"""`check`: several files, and all faults of a file at once, those of bash among them."""

from __future__ import annotations

import json
from pathlib import Path

from ...cli.running import GOOD, job_file
from ..asked import Asked


def test_bash_errors_are_reported_with_other_errors(files: tuple[str, str], asked: Asked) -> None:
    asked.compiler.check_job(files[1]).ends(3, "E201", "E203", "E350", "bad.yaml:15:1")


def test_invalid_amounts_are_reported_with_other_errors(asked: Asked, tmp_path: Path) -> None:
    bad = tmp_path / "none.yaml"
    bad.write_text(GOOD.replace("instances: 1", "instances: two").replace("cpu: 1", "cpu: 0"))
    asked.compiler.check_job(str(bad)).ends(3, "error E203", "warning W204: `cpu: 0` counts as 1")
    bad.write_text(GOOD.replace("cpu: 1", "cpu: 0").replace("type: job", "type: job\ndefaults: {virtualCluster: none}"))
    (tmp_path / "site.yaml").write_text("name: lab\nversion: 1\nvirtualClusters: {gpu: {partition: gpu}}\n")
    asked.compiler.check_job(str(bad), site=str(tmp_path / "site.yaml")).ends(4, "error E401", "warning W204")


def test_commands_of_an_invalid_v1_file_are_checked_with_bash(asked: Asked, tmp_path: Path) -> None:
    role = {"name": "a", "taskNumber": 0, "cpuNumber": 0, "memoryMB": 100, "gpuNumber": 0, "command": "echo 'x"}
    other = {**role, "name": "b", "taskNumber": 1, "cpuNumber": 1, "command": "if true; then"}
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps({"jobName": "v1", "image": "debian", "taskRoles": [role, other]}, indent=1))
    said = asked.compiler.check_job(str(bad)).err
    assert [said.count(code) for code in ("E203", "E350")] == [2, 2]
    assert f"{bad}:19:1  $.taskRoles[1].command" in said


def test_bash_errors_are_reported_with_site_errors(asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text("version: 1\nvirtualClusters: {gpu: {partition: gpu}}\n")
    job = tmp_path / "job.yaml"
    job.write_text(GOOD.replace("        fi\n", "") + "defaults: {virtualCluster: none}\n")
    asked.compiler.check_job(str(job), site=str(tmp_path / "site.yaml")).ends(4, "E401", "E350")


def test_a_name_without_room_for_the_user_is_refused_by_check_and_submit(asked: Asked, tmp_path: Path) -> None:
    """The longest name that is named works."""
    most = 0
    for length in (255, 0):
        file = job_file(tmp_path, GOOD.replace("name: good", f"name: {'a' * (length or most)}"))
        for call, options in (("compiler.check_job", {}), ("jobs.submit", {"backend": "local"})):
            said = asked.call(call, file, **options)
            assert (said.code, "E204: the name has 255 characters" in said.err) == ((3, True) if length else (0, False))
            most = most or int(said.err.partition("have room for ")[2].split()[0])
