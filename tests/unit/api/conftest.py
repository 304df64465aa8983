"""A home for each test, and no monitor that outlives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from paislurm.translator.app.input import sites
from paislurm.translator.app.submit import background

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the user's own jobs and profiles out of the tests; return the home of the environment."""
    for name in ("config", "cache"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    monkeypatch.setenv("PAISLURM_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PAISLURM_SITE", raising=False)
    monkeypatch.setattr(background, "_start", lambda *_: None)
    monkeypatch.setattr(sites, "SYSTEM", tmp_path / "etc" / "site.yaml")
    return tmp_path / "home"
