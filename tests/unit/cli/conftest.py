"""A home of its own for each test, and the command line as a function."""

from __future__ import annotations

import pytest

from .running import Runner


@pytest.fixture(autouse=True)
def apart(surroundings: object) -> None:
    """Have the home and the profiles of the test alone."""


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Runner:
    """Return the command line as a function."""
    return Runner(capfd)
