"""A local backend for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from paislurm.backends.slurm_emulator import processes

from .running import Runs


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    runs = Runs(tmp_path)
    yield runs
    for job_id in runs.jobs:
        if not runs.observe(job_id).final:
            runs.backend.cancel(job_id)
            processes.kill_all(runs.process_filter(job_id))
            runs.end(job_id)
