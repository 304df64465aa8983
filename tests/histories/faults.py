"""Faults: processes that are killed or stopped, services and nodes that go away, and a disk that is full."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tests.cluster import boot
from tests.cluster.instance import USERS as ACCOUNTS
from tests.cluster.instance import ClusterError
from tests.cluster.processes import kill, read

from .people import STALL, USERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.cluster import Cluster

KILLS = {"kill a monitor": 1, "kill a process of a job": 4}
PROCESSES = {**KILLS, "stop a monitor": 1}
SERVICES = {
    "kill slurmctld": 4, "restart slurmctld": 2, "stop slurmdbd": 3, "kill slurmdbd": 2, "kill slurmd": 3,
    "cut a node off": 2, "fill the disk": 3,
}  # fmt: skip
AWAY = {
    "kill slurmctld": ("slurmctld", 0, 6, True), "restart slurmctld": ("slurmctld", 0, 6, False),
    "stop slurmdbd": ("slurmdbd", 2, 20, False), "kill slurmdbd": ("slurmdbd", 2, 20, True),
}  # fmt: skip
"""A service, for how many seconds it is away, and whether it has crashed."""
MONITOR = " monitor"
REPAIR = 30.0
"""Seconds after which an administrator brings a node back."""


class Faults:
    """Faults by a seed, until `end`: of processes, or with `services` also of Slurm, its nodes and the disk.

    `counted` has their numbers, `story` when they were.
    """

    def __init__(self, cluster: Cluster, seed: int, *, services: bool = True) -> None:
        self.cluster = cluster
        self.seed = seed
        self.kinds = (PROCESSES, SERVICES) if services else (KILLS,)
        self.counted: Counter[str] = Counter()
        self.story: list[str] = []
        self.over = threading.Event()
        self.threads: list[threading.Thread] = []
        self.stopped: list[int] = []
        self.lost: dict[str, float] = {}

    def begin(self) -> None:
        if SERVICES in self.kinds:
            # A slurmctld of 26.05 does not start again without a state of associations, which it saves as it ends.
            self.away("slurmctld", 0, crash=False)
        for weights in self.kinds:
            thread = threading.Thread(target=self._go_on, args=(weights,))
            self.threads.append(thread)
            thread.start()

    def _go_on(self, weights: dict[str, int]) -> None:
        random = Random(f"{self.seed} {sorted(weights)}")
        while not self.over.wait(random.uniform(1, 5)):
            (what,) = random.choices(list(weights), list(weights.values()))
            self.counted[what] += 1
            self._tell(what)
            try:
                if weights is SERVICES:
                    self.resume(after=REPAIR)
                if what in AWAY:
                    daemon, least, most, crash = AWAY[what]
                    self.away(daemon, random.uniform(least, most), crash=crash)
                else:
                    getattr(self, what.replace(" ", "_"))(random)
            except ClusterError as error:
                self._tell(f"{what}: {error}")
            self._tell(f"over: {what}")

    def _tell(self, text: str) -> None:
        self.story.append(f"{time.time():.2f} {text}")

    def end(self) -> None:
        """Let no more faults come, and bring everything back."""
        self.over.set()
        for thread in self.threads:
            thread.join()
        self.go_on()
        for name in ("slurmdbd", "slurmctld"):
            self.back(name)
        self.resume()
        (self.cluster.instance.folder / "faults.log").write_text("".join(f"{line}\n" for line in self.story))

    def back(self, name: str) -> None:
        """Start a service; one that ends at once is started again."""
        try:
            self.cluster.start_daemon(name)
        except ClusterError as error:
            self._tell(f"{name}: {error}")
            self.cluster.start_daemon(name)

    def resume(self, after: float = 0.0) -> None:
        """Bring the nodes back that have been out of service for some seconds, in which one can see why."""
        states = boot.node_states(self.cluster.instance)
        lost = [name for name, state in states.items() if state not in boot.SERVING]
        self.lost = {node: self.lost.get(node, time.time()) for node in lost}
        for node in (node for node, since in self.lost.items() if time.time() - since >= after):
            self.cluster.revive([node])
            self.cluster.admin(["scontrol", "update", f"nodename={node}", "state=resume"], check=False)

    def ours(self) -> Iterator[tuple[int, str]]:
        """Find processes of the cluster's users: their numbers and command lines."""
        uids = {ACCOUNTS[user].uid for user in USERS}
        for path in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if path.name.isdigit() and path.stat().st_uid in uids:
                    yield int(path.name), read(path / "cmdline").replace("\0", " ")

    def monitors(self) -> list[int]:
        """Return the monitors in the background."""
        program = str(self.cluster.instance.venv)
        return sorted(pid for pid, line in self.ours() if line.startswith(program) and line.rstrip().endswith(MONITOR))

    def of_jobs(self) -> list[int]:
        """Return processes of jobs on nodes: batch scripts, sruns, and shells of tasks."""
        homes = str(self.cluster.instance.small)
        return sorted(pid for pid, line in self.ours() if homes in line and "python" not in line.partition(" ")[0])

    def kill_a_monitor(self, random: Random) -> None:
        if found := self.monitors():
            kill(random.choice(found))

    def stop_a_monitor(self, random: Random) -> None:
        if found := self.monitors():
            pid = random.choice(found)
            kill(pid, signal.SIGSTOP)
            self.stopped.append(pid)
            threading.Timer(random.uniform(*STALL), self.go_on).start()

    def go_on(self) -> None:
        """Let stopped monitors go on."""
        while self.stopped:
            kill(self.stopped.pop(), signal.SIGCONT)

    def kill_a_process_of_a_job(self, random: Random) -> None:
        if found := self.of_jobs():
            kill(random.choice(found))

    def kill_slurmd(self, random: Random) -> None:
        self.away(f"slurmd-{random.choice(self.cluster.nodes)}", random.uniform(0, 25), crash=True)

    def away(self, name: str, seconds: float, *, crash: bool) -> None:
        """Stop a service for some seconds."""
        self.cluster.stop_daemon(name, crash=crash)
        self.over.wait(seconds)
        self.back(name)

    def cut_a_node_off(self, random: Random) -> None:
        """Let a node be lost, or only be away for a moment."""
        node = random.choice(self.cluster.nodes)
        self.cluster.cut(node)
        self.over.wait(random.choice((4.0, 22.0)))
        self.cluster.restore(node)

    def fill_the_disk(self, random: Random) -> None:
        """Leave no room in the file system of the homes for some seconds."""
        status = os.statvfs(self.cluster.seen(self.cluster.instance.small))
        used = (status.f_blocks - status.f_bfree) * status.f_frsize
        self._resize(str(used + random.choice((0, 16384))))
        self.over.wait(random.uniform(1, 6))
        self._resize(self.cluster.instance.kind.room)

    def _resize(self, size: str) -> None:
        self.cluster.admin(["mount", "-o", f"remount,size={size}", str(self.cluster.instance.small)], check=False)
