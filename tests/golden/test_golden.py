"""Plans and scripts are what they were when somebody last read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.compare import difference

from .remake import CASES, made

if TYPE_CHECKING:
    from .remake import Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Case) -> None:
    made_now = {name: text.encode(errors="surrogateescape") for name, text in made(case).items()}
    changed = [said for name, text in made_now.items() if (said := difference(case.folder / name, text))]
    if changed:
        pytest.fail("\n\n".join(changed), pytrace=False)
