"""A home for each test, and no monitor that outlives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..cli.running import keep_apart

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home of the environment."""
    return keep_apart(tmp_path, monkeypatch)
