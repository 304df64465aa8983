"""Times of a job that follow from the site's."""

from __future__ import annotations

from datetime import timedelta

import pytest
import yaml

from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.load import load_site

from ..protocol.jobs import JOB


@pytest.mark.parametrize(("grace", "kill_wait", "seconds"), [(10, 30, 10), (30, 30, 28), (30, 2, 1)])
def test_the_grace_after_an_interruption_ends_before_kill_wait(grace: int, kill_wait: int, seconds: int) -> None:
    """Slurm sends KILL itself then, also to the batch script, which has a result to write."""
    site = load_site(f"time: {{grace: {grace}, killWait: {kill_wait}}}\n", file="site.yaml")
    times = compile_job(yaml.safe_dump(JOB, sort_keys=False), site=site).plan.times
    assert times.interrupted_grace == timedelta(seconds=seconds)
