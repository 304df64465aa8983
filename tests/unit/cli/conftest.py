"""A home and a Slurm for each test, and the command line as a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from paislurm.translator.cli import background, home, sites

from ..monitoring.jobs import FakeBackend
from .running import SITE, Runner

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the user's own jobs and profiles out of the tests; return the folder of the jobs."""
    monkeypatch.setenv("PAISLURM_HOME", str(tmp_path / "home"))
    home._choose.cache_clear()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("PAISLURM_SITE", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(background, "_start", lambda: None)
    monkeypatch.setattr(sites, "SYSTEM", tmp_path / "etc" / "site.yaml")
    return tmp_path / "home" / "jobs"


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> FakeBackend:
    """Put a Slurm in place that says what the test wants."""
    backend = FakeBackend()
    monkeypatch.setattr(home, "_choose", lambda _: backend)
    return backend


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a site profile in place, so that nothing is hinted."""
    path = tmp_path / "site.yaml"
    path.write_text(SITE, encoding="utf-8")
    monkeypatch.setenv("PAISLURM_SITE", str(path))
    return path


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Runner:
    """Return the command line as a function."""
    return Runner(capfd)
