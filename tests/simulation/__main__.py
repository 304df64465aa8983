"""Play histories: `python -m tests.simulation COUNT [FIRST]`, or tell one: `python -m tests.simulation --seed SEED`."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time

from .history import play
from .shrink import shrink


def violation(seed: int) -> tuple[int, str]:
    """Play a history; return what it broke, "" for nothing."""
    return seed, play(seed).violation


def tell(seed: int) -> None:
    """Print the shortest story of a history that breaks an invariant, or the story of one that does not."""
    found = play(seed)
    choices = shrink(found.choices, found.violation) if found.violation else found.choices
    told = play(given=choices, telling=True)
    print(*told.story, told.violation or "everything holds", sep="\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("first", nargs="?", type=int, default=0)
    parser.add_argument("--seed", type=int, help="tell the story of one history")
    parser.add_argument("--first-violation", action="store_true", help="stop at the first broken invariant")
    words = parser.parse_args()
    if words.seed is not None:
        tell(words.seed)
        return 0
    began, broken = time.monotonic(), 0
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for seed, what in pool.imap_unordered(violation, range(words.first, words.first + words.count), 50):
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
