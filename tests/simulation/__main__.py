"""Play histories: `python -m tests.simulation COUNT [FIRST]`, or tell one: `python -m tests.simulation --seed SEED`."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

from .history import play
from .scenarios import begin as begin_any
from .scenarios import begin_with_a_sweep, begin_with_losses
from .shrink import shrink

if TYPE_CHECKING:
    from .history import Begin


def violation(begin: Begin, seed: int) -> tuple[int, str]:
    """Play a history; return what it broke, "" for nothing."""
    return seed, play(seed, begin=begin).violation


def tell(begin: Begin, seed: int) -> None:
    """Print the shortest story of a history that breaks an invariant, or the story of one that does not."""
    found = play(seed, begin=begin)
    choices = shrink(found.choices, found.violation, begin) if found.violation else found.choices
    told = play(given=choices, telling=True, begin=begin)
    print(*told.story, told.violation or "everything holds", sep="\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("first", nargs="?", type=int, default=0)
    parser.add_argument("--seed", type=int, help="tell the story of one history")
    parser.add_argument("--first-violation", action="store_true", help="stop at the first broken invariant")
    parser.add_argument("--losses", action="store_true", help="Slurm loses jobs that wait")
    parser.add_argument("--sweep", action="store_true", help="a paced sweep")
    words = parser.parse_args()
    begin = begin_with_losses if words.losses else begin_with_a_sweep if words.sweep else begin_any
    if words.seed is not None:
        tell(begin, words.seed)
        return 0
    began, broken = time.monotonic(), 0
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for seed, what in pool.imap_unordered(
            partial(violation, begin), range(words.first, words.first + words.count), 50
        ):
            if what:
                broken += 1
                print(f"seed {seed}: {what}", flush=True)
                if words.first_violation:
                    break
    seconds = time.monotonic() - began
    print(f"{words.count} histories in {seconds:.0f} s: {broken} broke an invariant")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
