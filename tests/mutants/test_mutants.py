"""Each planted bug has its place in the program; `make mutants` plants them."""

from __future__ import annotations

import pytest

from . import MUTANTS
from .mutant import CHECKOUT, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.what)
def test_the_text_of_a_planted_bug_is_in_its_file_once(mutant: Mutant) -> None:
    assert (CHECKOUT / mutant.file).read_text().count(mutant.old) == 1
    assert mutant.new != mutant.old
