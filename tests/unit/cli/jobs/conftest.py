"""A job that waits, and time that passes for commands that wait."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paislurm.translator.app.jobs import waiting as wait
from paislurm.translator.state.job_folder import JobFolder

from ...monitor.jobs import FakeBackend
from ..running import Runner


@pytest.fixture
def waiting(run: Runner, slurm: FakeBackend, job: str, demo: JobFolder) -> JobFolder:
    """Submit the small job, which waits; Slurm has it as job 101."""
    assert run("submit", job, "--time", "60").code == 0
    assert slurm.submissions
    return demo


@pytest.fixture
def then(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """Return what lets the world change, once each time that a command sleeps; at last the user interrupts it."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    def change(*changes: Callable[[], object], seconds: float = 0) -> list[float]:
        """Return the pauses, which take no time; with `seconds`, so many pass between two looks at the clock."""
        left, now, pauses = iter(changes), iter(range(10_000)), list[float]()

        def sleep(pause: float) -> None:
            pauses.append(pause)
            next(left, interrupt)()

        monkeypatch.setattr(wait.time, "sleep", sleep)
        if seconds:
            monkeypatch.setattr(wait.time, "monotonic", lambda: next(now) * seconds)
        return pauses

    return change
