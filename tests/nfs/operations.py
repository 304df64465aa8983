"""Faulted operations of paislurm with its home on NFS: `python -m tests.nfs`, which runs this in a guest."""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.json import encode

from tests.cluster.cluster import Cluster
from tests.cluster.instance import LOGIN, default_instance
from tests.cluster.kinds import KINDS
from tests.nfs.check import alive, violations
from tests.nfs.mounts import CACHED, SOFT, UNCACHED, NfsServer
from tests.nfs.people import LOGINS, Operation, People, kill

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("a", "b", "c")
WHATS = {"submit": 8, "status": 5, "cancel": 2, "remove": 3, "update": 2, "monitor": 4}
AT_ONCE = 6
LASTING = (0.3, 1.0, 3.0, 9.0)
"""Seconds that a fault lasts; a soft client gives up after 6."""
SETTLING = 40
NODE = "n1"


class Round:
    """Some commands at once, and one fault beside them."""

    def __init__(self, people: People, server: NfsServer, chance: random.Random) -> None:
        self.people = people
        self.server = server
        self.chance = chance
        self.started: list[Operation] = []
        self.fault, self.begin = self._chosen()

    def _chosen(self) -> tuple[str, Callable[[], AbstractContextManager[object]]]:
        server, host = self.server, self.chance.choice(LOGINS)
        faults: dict[str, Callable[[], AbstractContextManager[object]]] = {
            "server restarted": server.down,
            f"requests of {host} lost": partial(server.requests_lost, host),
            f"answers to {host} lost": partial(server.answers_lost, host),
            f"requests of {NODE} lost": partial(server.requests_lost, NODE),
            f"answers to {NODE} lost": partial(server.answers_lost, NODE),
            "disk full": partial(server.disk_full, self.chance.choice((0, 100_000))),
            "killed": ExitStack,
        }
        name = self.chance.choice(list(faults))
        return name, faults[name]

    def run(self) -> list[Operation]:
        """Play it; return the commands that hang."""
        chance, stack = self.chance, ExitStack()
        begins, lasts = chance.uniform(0, 1.5), chance.choice(LASTING)
        plan: list[tuple[float, Callable[[], object]]] = [
            (begins, lambda: stack.enter_context(self.begin())),
            (begins + lasts, stack.close),
            *((chance.uniform(0, 1), self._start) for _ in range(AT_ONCE)),
        ]
        if self.fault == "killed":
            plan += [(1 + chance.uniform(0, 1), lambda: kill(chance.choice(self.started)))]
        began = time.time()
        with stack:
            for at, act in sorted(plan, key=lambda each: each[0]):
                time.sleep(max(0.0, began + at - time.time()))
                act()
        left = self.people.wait(self.started)
        for each in self.started:
            overlaps = each.began < began + begins + lasts and (each.ended > began + begins or not each.ended)
            if overlaps if self.fault != "killed" else each.code is not None and each.code < 0:
                each.faults.append(self.fault)
        return left

    def _start(self) -> None:
        (what,) = self.chance.choices(list(WHATS), list(WHATS.values()))
        name, host = self.chance.choice(NAMES), self.chance.choice(LOGINS)
        self.started.append(self.people.start(what, name, host, self.chance.choice((0, 1, 4))))


def settle(people: People, jobs: Path) -> None:
    """Let monitors work, without faults, until all jobs have ended."""
    for number in range(SETTLING):
        people.do("monitor", "", LOGINS[number % 2])
        if not alive(jobs):
            return
        time.sleep(5)


def longest_waits(people: People, jobs: Path, times: int) -> dict[str, float]:
    """Return the longest time from a result on the server to a command on the other login node that has it.

    `wait` waits for the end of a job, `status` is called again and again. Each has jobs of its own, because what one
    looks up is fresh for the other.
    """
    longest = {"wait": 0.0, "status": 0.0}
    for number in range(2 * times):
        name, what = f"w{number}", list(longest)[number % 2]
        people.wait([people.start("submit", name, LOGIN, 5)])
        shown = people.do(what, name, LOGINS[1])
        while not shown.document["ended"]:
            time.sleep(1)
            shown = people.do(what, name, LOGINS[1])
        written = (jobs / f"alice~{name}" / "attempts/0/result.json").stat().st_mtime
        longest[what] = max(longest[what], shown.ended - written)
    return longest


def main() -> int:
    """Play until enough operations met a fault, then check."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--operations", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--caches", choices=("on", "off"), default="on")
    parser.add_argument("--waits", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--record", type=Path)
    wanted = parser.parse_args()
    chance = random.Random(wanted.seed)
    cluster = Cluster(default_instance(kind=KINDS["nfs"]))
    cluster.up()
    options = CACHED if wanted.caches == "on" else UNCACHED
    server = NfsServer(cluster.instance, {LOGIN: options, "n1": options, "n2": options + SOFT})
    server.start()
    people = People(cluster)
    jobs = cluster.home("alice") / ".paislurm/jobs"
    waits = longest_waits(people, jobs, wanted.waits)
    print(f"caches {wanted.caches}: longest seconds from a result to its notice: {waits}", flush=True)
    hanging: list[Operation] = []
    met: Counter[str] = Counter()
    until = time.time() + 60 * wanted.minutes
    while met.total() < wanted.operations and not hanging and time.time() < until:
        played = Round(people, server, chance)
        hanging = played.run()
        met.update(each.faults[0] for each in played.started if each.faults)
        print(
            f"{met.total()} {played.fault}: {[(e.number, e.what, e.name, e.host, e.code) for e in played.started]}",
            flush=True,
        )
    # Slurm has drained nodes on which a job could not be started or killed in time; an administrator brings them back.
    cluster.admin(["scontrol", "update", "nodename=n1,n2", "state=resume"], check=False)
    settle(people, jobs)
    if alive(jobs):
        print(
            subprocess.run(
                ["ps", "axfww", "-o", "pid,stat,wchan:20,args"], capture_output=True, text=True, check=False
            ).stdout
        )
    broken = [f"{each.what} {each.name} on {each.host} hangs" for each in hanging] + violations(people, jobs)
    if wanted.record:
        wanted.record.write_bytes(encode(people.operations))
    print(f"{met.total()} operations of {len(people.operations)} met a fault: {dict(met)}")
    print(f"exit codes: {dict(Counter((each.what, each.code) for each in people.operations))}")
    print("\n".join(broken) or "nothing was lost, nothing ran twice")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
