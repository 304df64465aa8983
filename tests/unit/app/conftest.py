"""A home of its own for each test, and use cases as a command calls them."""

from __future__ import annotations

import pytest

from .asked import Asked


@pytest.fixture(autouse=True)
def apart(surroundings: object) -> None:
    """Have the home and the profiles of the test alone."""


@pytest.fixture
def asked() -> Asked:
    """Return the use cases of sessions."""
    return Asked()
