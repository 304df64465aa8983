"""A short soak in virtual time: files, descriptors and the monitor's memory do not grow with jobs that came and went.

`make soak` soaks for an hour on a real Slurm; `python -m tests.soak --virtual 72` for days in virtual time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from paislurm.translator.monitor.loop import Monitor

from .virtual import soaked

if TYPE_CHECKING:
    from .slopes import Sample

HOURS, JOBS = 10, 20
HELD = "objects that the monitor holds"


def growth(samples: list[Sample], what: str) -> float:
    """Return how many times as much there is in the last quarter as in the second one, when jobs of all ages exist."""
    values = [sample[what] for _, sample in samples]
    quarter = len(values) // 4
    return sum(values[-quarter:]) / sum(values[quarter : 2 * quarter])


def test_what_jobs_leave_behind_does_not_grow() -> None:
    samples, left = soaked(HOURS, JOBS, faults_an_hour=2)
    assert left == []
    assert {what: growth(samples, what) for what in ("run folders", HELD)} == pytest.approx(
        {"run folders": 1, HELD: 1}, abs=0.4
    )
    assert max(sample["open descriptors"] for _, sample in samples) <= JOBS


def test_a_leak_of_the_monitor_is_found() -> None:
    with patch.object(Monitor, "_forget_removed", lambda _: None):
        samples, _ = soaked(HOURS, JOBS, faults_an_hour=0)
    assert growth(samples, HELD) > 1.5
