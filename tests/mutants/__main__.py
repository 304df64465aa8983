"""Try planted bugs, and tell which of them no test notices: `python -m tests.mutants [HISTORIES] [WORD...]`.

With `--seeds`, find for each bug of the protocol a history that notices it, and write it to `seeds.json`.
"""

from __future__ import annotations

import argparse
import sys
import time

from . import MUTANTS
from .mutant import keep_seeds


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="HISTORIES | WORD")
    parser.add_argument("--seeds", action="store_true", help="find the histories that notice the bugs of the protocol")
    given = parser.parse_args()
    words: list[str] = given.words
    histories = int(words.pop(0)) if words and words[0].isdecimal() else 10_000
    chosen = [mutant for mutant in MUTANTS if all(word in f"{mutant.what} {mutant.file}" for word in words)]
    if given.seeds:
        chosen = [mutant for mutant in chosen if not mutant.tests]
    seeds: dict[str, int] = {}
    missed = 0
    for mutant in chosen:
        began = time.monotonic()
        seed = mutant.first_seed(histories) if given.seeds else None
        noticed = seed is not None if given.seeds else mutant.is_noticed(histories)
        missed += not noticed
        said = "MISSED " if not noticed else "noticed" if seed is None else f"by {seed:4}"
        if seed is not None:
            seeds[mutant.what] = seed
        print(f"{said} {time.monotonic() - began:5.0f} s  {mutant.what} ({mutant.file})", flush=True)
    if seeds:
        keep_seeds(seeds)
    print(f"{len(chosen) - missed} of {len(chosen)} planted bugs are noticed")
    return int(missed > 0)


sys.exit(main())
