"""Tasks that outlast their commands, held after a failure or by background processes: real jobs on this machine."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.processes import wait_until

from ..running import document_of, paislurm

HELD = """\
{{"jobName": "demo", "image": "debian", "jobEnvs": {{"isDebug": true}}, "taskRoles": [{{
  "name": "w", "taskNumber": 2, "cpuNumber": 1, "memoryMB": 100, "gpuNumber": 0, "command": "{command}"
}}]}}
"""
BACKGROUND = """\
protocolVersion: 2
name: demo
type: job
prerequisites: [{{name: image, type: dockerimage, uri: debian}}]
taskRoles:
  w:
    instances: 2
    dockerImage: image
    resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}
    completion: {{minFailedInstances: -1}}
    commands: ['setsid cat {gate} >/dev/null 2>&1 &', 'until grep -qs cat /proc/$!/comm; do :; done']
extras: {{slurm: {{compat: {{background: {background}}}}}}}
"""
pytestmark = pytest.mark.usefixtures("surroundings")


def submit(file: Path, text: str, *options: str) -> int:
    file.write_text(text)
    return paislurm("submit", str(file), "--backend", "local", *options).returncode


def tasks(*keys: str) -> list[tuple[Any, ...]]:
    """Return what is known of each task."""
    return [tuple(task[key] for key in keys) for task in document_of("status", "demo")["tasks"]]


@pytest.mark.slow("whole jobs, which wait")
def test_a_failed_task_is_held(tmp_path: Path, surroundings: Path) -> None:
    assert submit(tmp_path / "job.json", HELD.format(command="exit $((PAI_TASK_INDEX * 3))")) == 0
    wait_until(lambda: tasks("hold_ends_at")[1] != (None,), "the task to fail", 30)
    assert tasks("state", "exit_status")[1] == ("RUNNING", 3)
    shown = paislurm("status", "demo").stdout
    assert "w-1 failed with status 3; it is held on " in shown
    (line,) = [line for line in shown.splitlines() if "paislurm exec" in line]
    words = line.partition("paislurm ")[2].partition(";")[0].split()
    (folder,) = surroundings.iterdir()
    attempt = folder / "attempts" / "0"
    assert paislurm(*words, "--", "pwd").stdout == f"{attempt / 'work' / '0-w' / '1'}\n"
    assert paislurm("cancel", "demo").returncode == 0

    def reported() -> list[str]:
        lines = (attempt / "tasks" / "localhost.log").read_text().split("\n")
        return [line.split(" ")[0] for line in lines if line.split(" ")[3:4] == ["1"]]

    # The reports go when a command has seen the end.
    wait_until(lambda: reported() == ["start", "held", "term", "exit"], "the held task to end", 30)
    assert document_of("wait", "demo")["state"] == "STOPPED"
    assert tasks("exit_status", "hold_ends_at")[1] == (3, None)


@pytest.mark.slow("whole jobs, which wait")
def test_the_site_limits_how_long_a_task_is_held(tmp_path: Path, surroundings: Path) -> None:
    file, site = tmp_path / "job.json", tmp_path / "site.yaml"
    site.write_text(
        "partitions: {p: {nodes: [{count: 1, cpus: 4, memoryMB: 4000}]}}\ndefaultPartition: p\ntime: {debugHold: 1}\n"
    )
    assert submit(file, HELD.format(command="exit 4"), "--site", str(site), "--wait") == 1
    shown = paislurm("plan", str(file), "--site", str(site)).stdout
    assert "debug       a failed task is held for up to 0:00:01" in shown
    (folder,) = surroundings.iterdir()
    result = json.loads((folder / "attempts/0/result.json").read_text())
    assert (result["exit_code"], result["tasks"][int(result["trigger"]["index"])]["exit_status"]) == (255, 4)


@pytest.mark.slow("a whole job")
def test_status_names_background_processes_and_how_to_stop_them(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    assert submit(tmp_path / "job.yaml", BACKGROUND.format(gate=tmp_path / "gate", background="wait")) == 0
    wait_until(lambda: (None,) not in tasks("background_began_at"), "the commands to end", 60)
    assert tasks("state") == [("RUNNING",)] * 2
    shown = paislurm("status", "demo").stdout.splitlines()
    assert sum("succeeded at" in line and "cat (" in line for line in shown) == 2
    for stop in [line.partition(": paislurm ")[2] for line in shown if "stop them: " in line]:
        # The task ends with its last process, and may end this call, too.
        assert paislurm(*shlex.split(stop)).stderr == ""
    assert paislurm("wait", "demo").returncode == 0
    assert tasks("state", "exit_status", "background_began_at") == [("SUCCEEDED", 0, None)] * 2


@pytest.mark.slow("a whole job")
def test_background_stop_ends_a_task_with_its_commands(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    assert submit(tmp_path / "job.yaml", BACKGROUND.format(gate=tmp_path / "gate", background="stop"), "--wait") == 0
    assert tasks("state") == [("SUCCEEDED",)] * 2
