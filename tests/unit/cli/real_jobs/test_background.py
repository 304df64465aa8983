"""Processes that commands leave in the background: real jobs on this machine."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.processes import wait_until

from .test_v1_code_and_debug import paislurm

JOB = """\
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
    commands: ['setsid cat {gate} >/dev/null 2>&1 &']
extras: {{slurm: {{compat: {{background: {background}}}}}}}
"""


def submit(tmp_path: Path, background: str, *options: str) -> None:
    """Submit a job of two tasks, each of which leaves a process behind."""
    os.mkfifo(tmp_path / "gate")
    file = tmp_path / "job.yaml"
    file.write_text(JOB.format(gate=tmp_path / "gate", background=background))
    done = paislurm("submit", str(file), "--backend", "local", *options)
    assert done.returncode == 0, done.stderr


def tasks() -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = document_of("status", "demo")["tasks"]
    return shown


def waiting(count: int) -> bool:
    return sum(task["background_began_at"] is not None for task in tasks()) == count


@pytest.mark.slow("a whole job")
@pytest.mark.usefixtures("surroundings")
def test_status_names_the_processes_and_how_to_stop_them(tmp_path: Path) -> None:
    submit(tmp_path, "wait")
    wait_until(lambda: waiting(2), "the commands to end", 60)
    assert [task["state"] for task in tasks()] == ["RUNNING", "RUNNING"]
    shown = paislurm("status", "demo").stdout.splitlines()
    assert sum("succeeded at" in line and "cat (" in line for line in shown) == 2
    stops = [line.partition(": paislurm ")[2] for line in shown if "stop them: " in line]
    for stop in stops:
        # The task ends with its last process, and may end this call, too.
        assert paislurm(*shlex.split(stop)).stderr == ""
    assert paislurm("wait", "demo").returncode == 0
    assert [(task["state"], task["exit_status"], task["background_began_at"]) for task in tasks()] == [
        ("SUCCEEDED", 0, None)
    ] * 2


@pytest.mark.slow("a whole job")
@pytest.mark.usefixtures("surroundings")
def test_a_cancel_does_not_undo_settled_results(tmp_path: Path) -> None:
    submit(tmp_path, "wait")
    wait_until(lambda: waiting(2), "the commands to end", 60)
    assert paislurm("cancel", "demo").returncode == 0
    done = paislurm("wait", "demo", "--json")
    shown = json.loads(done.stdout)
    assert (shown["state"], [task["state"] for task in shown["tasks"]]) == ("SUCCEEDED", ["SUCCEEDED"] * 2), shown


@pytest.mark.slow("a whole job")
@pytest.mark.usefixtures("surroundings")
def test_background_stop_ends_a_task_with_its_commands(tmp_path: Path) -> None:
    submit(tmp_path, "stop", "--wait")
    assert [task["state"] for task in tasks()] == ["SUCCEEDED", "SUCCEEDED"]
