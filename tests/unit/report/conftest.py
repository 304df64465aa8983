"""A home for job folders, and the command line as a function."""

from __future__ import annotations

from pathlib import Path

import pytest

from paislurm.translator.state import tidy

from ..cli.running import Runner, keep_apart


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of jobs in a new home without site profiles."""
    folder = keep_apart(tmp_path, monkeypatch) / "jobs"
    folder.mkdir(parents=True, mode=0o700)
    folder.parent.chmod(0o700)
    # The jobs ended long ago; without this, tidying would delete their files.
    monkeypatch.setattr(tidy, "_tidy_attempt", lambda *_, **__: False)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Runner:
    """Return the command line as a function."""
    return Runner(capfd)
