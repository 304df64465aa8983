"""A home for each test, and no monitor that outlives it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..cli.running import keep_apart


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home of the environment."""
    return keep_apart(tmp_path, monkeypatch)
