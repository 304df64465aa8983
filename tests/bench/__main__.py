"""Run the benchmarks; exit with 1 if a limit is not kept.

`--no-cluster` leaves out those that boot one, `--peers` adds the figures of other programs, which it installs. What
Slurm counts in an hour takes an hour: `python -m tests.bench.hour`.
"""

from __future__ import annotations

import sys

from . import commands, compiling, large, logs, noticing, reading, roles, tasks, watching


def main() -> int:
    """Print each ratio as it comes."""
    over = 0
    parts = [
        commands.run(),
        compiling.run(),
        roles.run(peers="--peers" in sys.argv),
        reading.run(),
        tasks.run(),
        large.run(),
        watching.run(),
        noticing.run(),
        logs.run(),
    ]
    if "--no-cluster" not in sys.argv:
        from . import starting

        parts.append(starting.run())
    for part in parts:
        for ratio in part:
            print(ratio, flush=True)
            over += not ratio.ok
    return int(over > 0)


sys.exit(main())
