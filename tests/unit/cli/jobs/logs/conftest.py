"""A job whose tasks print."""

from __future__ import annotations

from pathlib import Path

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.state.job_folder import JobFolder

from ....monitor.jobs import CREATED, INTENT, SUBMITTED, FakeBackend, job_folder, observed


@pytest.fixture
def folder(surroundings: Path, slurm: FakeBackend) -> JobFolder:
    """Make a job that runs."""
    slurm.observations[JobId("7")] = observed("RUNNING")
    return job_folder(surroundings, CREATED, INTENT, SUBMITTED)
