"""The whole program as a user runs it, on this machine, without Slurm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from .running import JOB, job_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = (sys.executable, "-m", "paislurm.translator.cli.main")


def paislurm(*argv: str) -> subprocess.CompletedProcess[str]:
    """Run the program."""
    return subprocess.run([*PROGRAM, *argv], capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """End all jobs when a test has ended."""
    yield
    for line in json.loads(paislurm("list", "--all", "--json").stdout):
        if not line["ended"]:
            paislurm("cancel", line["name"])


def test_a_job_from_its_file_to_its_end(tmp_path: Path) -> None:
    done = paislurm("submit", job_file(tmp_path), "--backend", "local", "--follow")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "worker-0 | and bye",
        "worker-0 | hello from 0",
        "worker-1 | and bye",
        "worker-1 | hello from 1",
    ]
    assert "SUCCEEDED" in done.stderr
    assert "2/2" in paislurm("list").stdout
    document = json.loads(paislurm("status", "demo", "--json").stdout)
    assert (document["state"], [task["code"] for task in document["tasks"]]) == ("SUCCEEDED", [0, 0])


def test_tasks_know_all_tasks(tmp_path: Path) -> None:
    job = job_file(tmp_path, JOB.replace("echo and bye", 'echo "$PAI_TASK_ROLE_INSTANCES"'))
    done = paislurm("submit", job, "--backend", "local", "--follow")
    assert done.stdout.splitlines().count("worker-1 | worker:0,worker:1") == 1


def test_a_job_that_fails(tmp_path: Path) -> None:
    job = job_file(tmp_path, JOB.replace("echo and bye", "exit 3"))
    done = paislurm("submit", job, "--backend", "local", "--wait", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["code"] == 255


def test_ctrl_c_leaves_the_job_alone_and_cancel_ends_it(tmp_path: Path) -> None:
    job = job_file(tmp_path, JOB.replace("echo and bye", "sleep 60"))
    # Whoever runs the tests in the background has SIGINT ignored, and children would inherit that.
    follower = subprocess.Popen(
        ["env", "--default-signal=INT", *PROGRAM, "submit", job, "--backend", "local", "--follow"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert follower.stdout is not None
    assert "hello from" in follower.stdout.readline()
    os.killpg(follower.pid, signal.SIGINT)
    _, said = follower.communicate(timeout=30)
    assert follower.returncode == 130
    assert "goes on" in said
    assert "Traceback" not in said
    assert json.loads(paislurm("status", "demo", "--json").stdout)["state"] == "RUNNING"
    assert paislurm("cancel", "demo").returncode == 0
    waited = paislurm("wait", "demo", "--json")
    assert (waited.returncode, json.loads(waited.stdout)["state"]) == (1, "STOPPED")
