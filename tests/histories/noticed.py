"""What Slurm and the journals show of jobs that are ended from outside."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tests.cluster.instance import ClusterError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster
    from tests.contract.site import Job

LIVE = ("PENDING", "RUNNING", "CONFIGURING", "COMPLETING")
SCRIPT = re.compile(r"/alice~([^/]+)/attempts/(\d+)/job\.sbatch")


class Watch:
    """What Slurm and the journals show, each second: copies of attempts, and when each first attempt's end is known."""

    def __init__(self, cluster: Cluster, jobs: dict[str, Job], folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.jobs = jobs
        self.numbers: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.known: dict[str, float] = {}
        """When Slurm knew that the first attempt had ended."""
        self.recorded: dict[str, float] = {}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._go_on)

    def _go_on(self) -> None:
        while not self.over.wait(1):
            now, submitted = time.time(), {*self.jobs}
            with suppress(ClusterError):
                rows = self.cluster.admin(["squeue", "--all", "--states=all", "--noheader", "--format=%i|%T|%o"])
                living = self._living(rows)
                self.known |= dict.fromkeys(submitted - living - self.known.keys(), now)
            for name, job in list(self.jobs.items()):
                if name not in self.recorded and re.search(rb'"kind": "(retry|ended)"', _journal(job)):
                    self.recorded[name] = time.time()

    def _living(self, rows: str) -> set[str]:
        """Return the jobs whose first attempt Slurm shows as one that has not ended."""
        living: set[str] = set()
        for number, state, command in (row.split("|", 2) for row in rows.splitlines()):
            found = SCRIPT.search(command)
            if found and str(self.folder) in command:
                self.numbers[found[1], found[2]].add(number.partition("+")[0])
                living |= {found[1]} if state in LIVE and found[2] == "0" else set()
        return living


def _journal(job: Job) -> bytes:
    path = job.path / "journal.jsonl"
    return path.read_bytes() if path.exists() else b""


def first_end(job: Job) -> dict[str, Any]:
    """Return the record of the end of a job's first attempt."""
    records = map(json.loads, _journal(job).splitlines())
    nothing: dict[str, Any] = {"kind": "", "exit_code": None, "blamed_nodes": [], "reason": "no end is recorded"}
    return next((record for record in records if record["kind"] in ("retry", "ended")), nothing)
