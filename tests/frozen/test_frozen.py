"""Every view shows of the recorded jobs what it showed when somebody last read it."""

from __future__ import annotations

import pytest

from tests.compare import difference

from .recording import CASES, SHOWN
from .replay import shown


@pytest.mark.parametrize("name", CASES)
def test_frozen(name: str) -> None:
    if changed := difference(SHOWN / f"{name}.txt", shown(name)):
        pytest.fail(changed, pytrace=False)
