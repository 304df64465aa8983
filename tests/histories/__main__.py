"""Play a history on a real cluster: `python -m tests.histories --version 22.05 --operations 10000 --seed 1`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.cluster.checkout import install_checkout
from tests.cluster.cluster import Cluster
from tests.cluster.instance import default_instance
from tests.cluster.kinds import KINDS, SLURMS
from tests.cluster.versions import slurm_of

from .driver import Driver, Plan, say


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.histories", description=__doc__)
    parser.add_argument("--version", default="22.05", help="the version of Slurm, of those that the tests have")
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-faults", action="store_true", help="no process is killed, and no service goes away")
    parser.add_argument("--home", action="append", default=[], metavar="HOST=PATH", help="the folder of homes at a host")
    words = parser.parse_args()
    slurm = next((each for each in SLURMS if slurm_of(each).startswith(words.version)), None)
    if slurm is None:
        parser.error(f"the tests have Slurm {', '.join(map(slurm_of, SLURMS))}")
    homes = {host: Path(path) for host, _, path in (each.partition("=") for each in words.home)}
    plan = Plan(operations=words.operations, seed=words.seed, faults=not words.no_faults, homes=homes)
    cluster = Cluster(default_instance(slurm, KINDS["logins"]))
    cluster.up()
    install_checkout(cluster.instance)
    return play(cluster, plan)


def play(cluster: Cluster, plan: Plan) -> int:
    """Play one history and print what came of it."""
    folder = cluster.instance.folder / f"history-{plan.seed}"
    began = time.time()
    driver = Driver(cluster, plan, folder)
    say(f"the workers are ready after {time.time() - began:.0f} s")
    driver.work(say)
    say(f"{driver.done} operations in {time.time() - driver.began:.0f} s")
    left = driver.settle(say)
    say(f"settled after {time.time() - driver.began:.0f} s; left: {left}")
    return bool(left)


if __name__ == "__main__":
    sys.exit(main())
