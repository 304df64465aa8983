"""A small job file of protocol v1, to be changed in one place by each test."""

from __future__ import annotations

import json
from typing import Any

from .jobs import changed

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
