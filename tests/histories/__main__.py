"""Play a history on a real cluster: `python -m tests.histories --version 22.05 --operations 10000 --seed 1`."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from tests.cluster.checkout import install_checkout
from tests.cluster.cluster import Cluster
from tests.cluster.instance import default_instance
from tests.cluster.kinds import KINDS, SLURMS
from tests.cluster.versions import slurm_of

from .checker import check
from .driver import Driver, say
from .ends import SERIES, play_ends
from .evidence import collect, read
from .people import Plan
from .provoking import Faults


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.histories", description=__doc__)
    parser.add_argument("--version", default="22.05", help="the version of Slurm, of those that the tests have")
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-faults", action="store_true", help="no process is killed, and no service goes away")
    parser.add_argument("--ends", choices=SERIES, help="play ends from outside, on a site of this kind, instead")
    parser.add_argument("--check", type=Path, metavar="FOLDER", help="check what a history has left")
    words = parser.parse_args()
    if words.check:
        return report(words.check)
    slurm = next((each for each in SLURMS if slurm_of(each).startswith(words.version)), None)
    if slurm is None:
        parser.error(f"the tests have Slurm {', '.join(map(slurm_of, SLURMS))}")
    plan = Plan(operations=words.operations, seed=words.seed, faults=not words.no_faults)
    cluster = Cluster(default_instance(slurm, KINDS["" if words.ends else "logins"]))
    cluster.up()
    install_checkout(cluster.instance)
    return play_ends(cluster, words.ends) if words.ends else play(cluster, plan)


def play(cluster: Cluster, plan: Plan) -> int:
    """Play one history and print what came of it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # In the background of a shell it is ignored.
    folder = cluster.instance.folder / f"history-{plan.seed}"
    began = time.time()
    driver = Driver(cluster, plan, folder)
    say(f"the workers are ready after {time.time() - began:.0f} s")
    faults = Faults(cluster, plan.seed)
    if plan.faults:
        faults.begin()
    try:
        driver.work(say)
    finally:
        faults.end()
    say(f"{driver.done} operations in {time.time() - driver.began:.0f} s")
    left = driver.settle(say)
    say(f"settled after {time.time() - driver.began:.0f} s")
    collect(driver, left)
    for what, count in faults.counted.most_common():
        print(f"{count:8} {what}")
    return report(folder)


def report(folder: Path) -> int:
    """Print what a history came to, and return whether something does not hold."""
    found = check(read(folder))
    for what, count in found.counts.items():
        print(f"{count:8} {what}")
    print("\nends of jobs")
    for words, count in found.ends.most_common():
        print(f"{count:8} {words}")
    print(f"\nends without a known cause: {len(found.unexplained)}", *found.unexplained, sep="\n")
    print(f"\nviolations: {len(found.violations)}; evidence: {folder}")
    for violation in found.violations:
        print(f"{violation.invariant}: {violation.text}\n    {violation.where}")
    return int(bool(found.violations))


if __name__ == "__main__":
    sys.exit(main())
