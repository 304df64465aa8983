"""Soak the monitor: `python -m tests.soak --minutes 60` on a real Slurm, `--virtual 72` in virtual hours."""

from __future__ import annotations

import argparse
import sys


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="real minutes on the cluster; default: 60")
    parser.add_argument("--virtual", type=float, help="virtual hours in the simulator instead")
    parser.add_argument("--seed", type=int, default=0, help="of virtual hours; default: 0")
    words = parser.parse_args()
    if words.virtual is None:
        from .real import soak

        return soak(words.minutes)
    from .virtual import soak as soak_virtually

    return soak_virtually(words.virtual, words.seed)


if __name__ == "__main__":
    sys.exit(main())
