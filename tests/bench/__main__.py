"""Run the benchmarks; exit with 1 if a limit is not kept.

What Slurm counts in an hour takes an hour and is apart: `python -m tests.bench.hour`.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING

from . import commands, compiling, idle, large, logs, noticing, reading, roles, starting, tasks, watching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .measure import Note, Ratio

BENCHES: dict[str, Callable[[], Iterator[Ratio | Note]]] = {
    module.__name__.rpartition(".")[2]: module.run
    for module in (commands, compiling, roles, reading, tasks, large, watching, noticing, logs, starting, idle)
}
BOOT_CLUSTERS = ("starting", "idle")


def main() -> int:
    """Print each ratio as it comes."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"run these alone: {', '.join(BENCHES)}")
    parser.add_argument(
        "--no-cluster", action="store_true", help=f"leave out {' and '.join(BOOT_CLUSTERS)}, which boot clusters"
    )
    parser.add_argument("--peers", action="store_true", help="add the figures of other programs, which this installs")
    parser.add_argument("--base", metavar="WHEEL", help="compare the commands with those of this wheel, too")
    wanted = parser.parse_args()
    if unknown := set(wanted.names) - BENCHES.keys():
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(BENCHES)}")
    over = 0
    options = {
        "peers": ("roles", partial(roles.run, peers=True)),
        "base": ("commands", partial(commands.run, base=wanted.base)),
    }
    for name, run in (BENCHES | dict(run for option, run in options.items() if getattr(wanted, option))).items():
        if name not in (wanted.names or BENCHES) or (wanted.no_cluster and name in BOOT_CLUSTERS):
            continue
        for ratio in run():
            print(ratio, flush=True)
            over += not ratio.ok
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main())
