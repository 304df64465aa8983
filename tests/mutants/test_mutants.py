"""Each planted bug has its place in the program, and a history notices each bug of the protocol."""

from __future__ import annotations

import pytest

from tests.simulation.history import play

from . import MUTANTS
from .mutant import CHECKOUT, Mutant, known_seeds
from .protocol import PROTOCOL

SEEDS = known_seeds()
HISTORIES = 1000
AGAIN = "`python -m tests.mutants --seeds` looks for histories that notice it"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.what)
def test_the_text_of_a_planted_bug_is_in_its_file_once(mutant: Mutant) -> None:
    assert (CHECKOUT / mutant.file).read_text().count(mutant.old) == 1
    assert mutant.new != mutant.old


@pytest.mark.slow("a copy of the program for each bug")
@pytest.mark.parametrize("mutant", PROTOCOL, ids=lambda mutant: mutant.what)
def test_a_history_notices_a_bug_of_the_protocol(mutant: Mutant) -> None:
    seed = SEEDS[mutant.what]
    assert play(seed).violation == ""
    # Any change of the program can shift what a history meets: then others have to notice the bug.
    assert mutant.first_seed(1, seed) == seed or mutant.first_seed(HISTORIES) is not None, AGAIN
