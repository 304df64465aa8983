"""Run the command line in this process, and what it is given: a job file, a site profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paislurm.translator.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SITE = """\
partitions:
  batch: {nodes: [{count: 4, cpus: 16, memoryMB: 100000}]}
defaultPartition: batch
monitor: {background: false}
"""

JOB = """\
protocolVersion: 2
name: demo
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: "python:3.11"}
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


def job_file(folder: Path, text: str = JOB, name: str = "job.yaml") -> str:
    """Write a job file and return its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@dataclass(frozen=True)
class Said:
    """Hold what a command printed, and its exit code."""

    code: int
    out: str
    err: str


class Runner:
    """Call `main` and collect what it prints."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, *argv: str) -> Said:
        """Run a command line."""
        self._capture.readouterr()
        code = main(argv)
        captured = self._capture.readouterr()
        return Said(code, captured.out, captured.err)
