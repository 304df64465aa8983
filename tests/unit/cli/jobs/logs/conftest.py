"""A job whose tasks print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from paislurm.backends.base import JobId

from ....monitor.jobs import CREATED, INTENT, SUBMITTED, FakeBackend, job_folder, observed

if TYPE_CHECKING:
    from pathlib import Path

    from paislurm.translator.state.job_folder import JobFolder


@pytest.fixture
def folder(surroundings: Path, slurm: FakeBackend) -> JobFolder:
    """Make a job that runs."""
    slurm.observations[JobId("7")] = observed("RUNNING")
    return job_folder(surroundings, CREATED, INTENT, SUBMITTED)
