"""A small job file of protocol v1, to be changed in one place by each test."""

from __future__ import annotations

import json
from typing import Any

from paislurm.translator.job import Job, Role

from .jobs import changed, check

ROLE: dict[str, Any] = {
    "name": "worker",
    "taskNumber": 2,
    "cpuNumber": 1,
    "memoryMB": 1024,
    "gpuNumber": 0,
    "command": "python train.py",
}
JOB: dict[str, Any] = {"jobName": "demo", "image": "python:3.11", "taskRoles": [ROLE]}


def job(path: str = "", value: object = None) -> str:
    """Return the small job file, with one value set."""
    return json.dumps(changed(JOB, path, value) if path else JOB, indent=2)


def meant(path: str = "", value: object = None) -> Job:
    """Return what the small job file with one value set means."""
    return check(job(path, value)).job


def role(path: str = "", value: object = None) -> Role:
    """Return what its role means, with one value of the role set."""
    return meant(f"taskRoles/0/{path}" if path else "", value).roles[0]


def codes(path: str = "", value: object = None) -> list[str]:
    """Return the codes of its warnings."""
    return [diagnostic.code for diagnostic in check(job(path, value)).warnings]
