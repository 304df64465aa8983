"""Try planted bugs, and tell which of them no test notices: `python -m tests.mutants [HISTORIES] [WORD...]`."""

from __future__ import annotations

import sys
import time

from . import MUTANTS


def main() -> int:
    words = sys.argv[1:]
    histories = int(words.pop(0)) if words and words[0].isdecimal() else 10_000
    chosen = [mutant for mutant in MUTANTS if all(word in f"{mutant.what} {mutant.file}" for word in words)]
    missed = 0
    for mutant in chosen:
        began = time.monotonic()
        noticed = mutant.is_noticed(histories)
        missed += not noticed
        said = "noticed" if noticed else "MISSED "
        print(f"{said} {time.monotonic() - began:5.0f} s  {mutant.what} ({mutant.file})", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} planted bugs are noticed")
    return int(missed > 0)


sys.exit(main())
