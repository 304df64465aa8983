"""Run the command line, in this process or one of its own: what it is given, what it says, what it leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.app.session import user_name
from paislurm.translator.app.sites import find as sites
from paislurm.translator.app.submit import background
from paislurm.translator.cli.main import main
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import Record
from tests.clock import clock
from tests.documents import check_output

from ..monitor.jobs import CREATED, INTENT, SUBMITTED, FakeBackend, job_folder, leave_result, observed
from ..protocol.jobs import HEAD

PROGRAM = (sys.executable, "-m", "paislurm.translator.cli.main")
ME = f"{user_name()}~demo"
"""The name of the small job below, once it is submitted."""
SITE = """\
partitions:
  batch: {nodes: [{count: 4, cpus: 16, memoryMB: 100000}]}
defaultPartition: batch
monitor: {background: false}
"""

JOB = (
    HEAD
    + """\
taskRoles:
  worker:
    instances: 2
    completion: {minFailedInstances: 1, minSucceededInstances: -1}
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 64, gpu: 0}
    commands:
      - echo hello from $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX
      - echo and bye
"""
)


def keep_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the user's own jobs and profiles, and those of the machine, out of a test; return the home of its jobs."""
    for name, value in (("PAISLURM_HOME", "home"), ("XDG_CONFIG_HOME", "config"), ("XDG_CACHE_HOME", "cache")):
        monkeypatch.setenv(name, str(folder / value))
    monkeypatch.delenv("PAISLURM_SITE", raising=False)
    monkeypatch.setattr(background, "_start", lambda *_: None)
    monkeypatch.setattr(sites, "SYSTEM", folder / "etc" / "site.yaml")
    return folder / "home"


def own_job(jobs: Path, name: str, job_id: str, *more: Record, age: int = 5) -> JobFolder:
    """Make the folder of a job of one's own that was submitted `age` seconds ago."""
    at = clock() - age
    created = replace(CREATED, user=user_name(), job=name, happened_at=at, partition="gpu", virtual_cluster="vc")
    sent = replace(SUBMITTED, user=user_name(), job=name, job_id=job_id, happened_at=at)
    return job_folder(jobs, created, replace(INTENT, happened_at=at), sent, *more, name=f"{user_name()}~{name}")


GOOD = """\
protocolVersion: 2
name: good
type: job
prerequisites: [{name: image, type: dockerimage, uri: debian}]
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands:
      - echo <% $parameters.lr %>
      - |
        if true
        then echo hello
        fi
parameters: {lr: 0.1}
"""
LIMITED = """\
partitions:
  batch: {nodes: [{count: 4, cpus: 16, memoryMB: 100000}], timeLimit: 1:00:00}
defaultPartition: batch
accounts: {physics: {qos: [normal]}}
qos: {normal: {}}
"""


def job_file(folder: Path, text: str = JOB, name: str = "job.yaml") -> str:
    """Write a job file and return its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def program(path: Path, text: str) -> None:
    """Write a shell script that stands for a program."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def paislurm(*argv: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own."""
    env = {**os.environ, **environment}
    return subprocess.run(
        [*PROGRAM, *argv], input=stdin, env=env, capture_output=True, text=True, check=False, timeout=60
    )


def document_of(command: str, *argv: str) -> Any:
    """Return the document that a command prints in a process of its own."""
    return json.loads(paislurm(command, "--json", *argv).stdout)


def everything(jobs: Path) -> dict[str, bytes]:
    """Return all files below the job folders, with what is in them."""
    return {str(path.relative_to(jobs)): path.read_bytes() for path in jobs.rglob("*") if path.is_file()}


def finish(folder: JobFolder, slurm: FakeBackend, **result: object) -> None:
    """Let the last submitted job end."""
    leave_result(folder, **result)
    job_id = f"{100 + len(slurm.submissions)}"
    slurm.observations[JobId(job_id)] = observed("COMPLETED", final=True, job_id=job_id)


@dataclass(frozen=True)
class Said:
    """Hold what a command printed, and its exit code."""

    code: int
    out: str
    err: str

    def ends(self, code: int, *words: str) -> None:
        """Hold that the exit code is this one, and that standard error has these words and no traceback."""
        missing = [word for word in words if word not in self.err]
        assert (self.code, missing, "Traceback" in self.err) == (code, [], False), self.err


class Runner:
    """Call `main` and collect what it prints."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, *argv: str) -> Said:
        """Run a command line; a document that it prints is held against the schema."""
        self._capture.readouterr()
        code = main(argv)
        captured = self._capture.readouterr()
        check_output(argv, captured.out)
        return Said(code, captured.out, captured.err)

    def json(self, command: str, *argv: str) -> Any:
        """Return the document that a command prints."""
        return json.loads(self(command, "--json", *argv).out)
