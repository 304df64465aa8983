"""Plans and scripts are what they were when somebody last read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .remake import CASES, made

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path) -> None:
    for name, text in made(case).items():
        assert text == (case / name).read_bytes().decode(errors="surrogateescape"), f"{name} is another"
