"""A job that waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from paislurm.translator.state.job_folder import JobFolder

    from ...monitor.jobs import FakeBackend
    from ..running import Runner


@pytest.fixture
def waiting(run: Runner, slurm: FakeBackend, job: str, demo: JobFolder) -> JobFolder:
    """Submit the small job, which waits; Slurm has it as job 101."""
    assert run("submit", job, "--time", "60").code == 0
    assert slurm.submissions
    return demo
