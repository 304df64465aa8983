"""Jobs that a monitor looks after, each in a home of its own, and what can be counted of them from outside."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paislurm.translator.state.tidy import is_tidied
from tests.cluster.instance import ALICE
from tests.cluster.jobs import folder_of_alice, job_text, profile, role
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster

LONGEST = 330
"""Seconds: a lock goes stale after 60, an attempt of which nothing is known is given up after 180."""
ALONE = "monitor: {background: false, maxPollInterval: 2}\n"
SAVES = "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 300 & wait; done"
FIRST = '[ "$FC_FRAMEWORK_ATTEMPT_ID" = 0 ]'
KILLS = [("write", number) for number in range(1, 7)] + [("fsync", 4), ("link", 1), ("rename", 1)]
"""System calls in which a monitor is killed: all of its writes, what makes them last, and what takes its lock."""
COUNTED: list[tuple[str, tuple[int, int, int], str]] = []
"""Of each fault: how many attempts there were by accounting, claims and ledger, and how the job ended."""


@dataclass(frozen=True)
class Watched:
    """A job of alice's, its home and its ledger, to which each attempt's command adds a line."""

    cluster: Cluster
    folder: Path
    name: str
    home: Path

    @property
    def path(self) -> Path:
        return self.cluster.seen(self.home / "jobs" / f"{ALICE}~{self.name}")

    def argv(self, *words: str) -> list[str]:
        return self.cluster.command(["paislurm", *words], user="alice", cwd=self.folder, env=self.env)

    @property
    def env(self) -> dict[str, str]:
        return {"PAISLURM_HOME": str(self.home), "PAISLURM_SITE": str(self.folder / "site.yaml")}

    def run(self, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        argv = ["paislurm", *words]
        return self.cluster.run(argv, cwd=self.folder, env=self.env | (env or {}), timeout=LONGEST)

    def status(self) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(self.run("status", "--json", self.name).stdout)
        return shown

    def ended(self) -> dict[str, Any]:
        """Wait for the end and return how it came."""
        waited = self.run("wait", "--json", self.name)
        shown: dict[str, Any] = json.loads(waited.stdout)
        assert shown.get("ended"), (waited.stdout, waited.stderr)
        return shown

    def begun(self, attempts: int = 1) -> None:
        """Wait until so many attempts have begun their command."""
        wait_until(lambda: len(self.lines()) >= attempts, f"attempt {attempts - 1} of {self.name} to begin", LONGEST)

    def lines(self) -> list[str]:
        ledger = self.folder / "ledger"
        return ledger.read_text().splitlines() if ledger.exists() else []

    def job_ids(self) -> list[str]:
        """Return what Slurm's accounting has under the job's name, the leaders alone."""
        argv = ["sacct", "-X", "-n", "-P", "--starttime=now-1hour", f"--name={self.name}", "--format=JobID"]
        rows = self.cluster.admin(argv).split()
        return sorted({row.partition("+")[0] for row in rows}, key=int)

    def latest(self) -> str:
        """Return the id of the job whose command began last."""
        return self.lines()[-1].split()[1]

    def counts(self) -> tuple[int, int, int]:
        """Return how many attempts there were: by the accounting, by the claims, by the ledger."""
        claims = [path for path in self.path.glob("attempts/*") if _was_claimed(path)]
        # The accounting is late, most of all when its daemon has just come back.
        wait_until(lambda: len(self.job_ids()) >= len(claims), f"the accounting to know {self.name}", 60)
        return len(self.job_ids()), len(claims), len(self.lines())

    def leading_node(self) -> str:
        """Return the node of the batch script of the attempt that began last."""
        return self.cluster.admin(["squeue", "-h", "-o", "%B", f"--jobs={self.latest()}"]).strip()

    def nodes(self) -> list[str]:
        """Return the nodes of the attempt that began last, while it runs."""
        names = self.cluster.admin(["squeue", "-h", "-o", "%N", f"--jobs={self.latest()}"]).strip()
        return self.cluster.admin(["scontrol", "show", "hostnames", names]).split()

    def journal(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.path / "journal.jsonl").read_text().splitlines() if line]


def _was_claimed(attempt: Path) -> bool:
    """Tell whether a script claimed the attempt; once it is tidied, the logs that it made tell."""
    return (attempt / "claim/owner").exists() or (is_tidied(attempt) and (attempt / "logs").exists())


def watched(
    cluster: Cluster,
    folder: Path,
    command: str,
    *,
    retries: int = 0,
    partitions: str = "",
    site: str = "",
    extras: str = "",
    env: dict[str, str] | None = None,
    memory: int = 100,
    home: Path | None = None,
    tasks: int = 1,
    cpus: int = 1,
    failed: int = 1,
) -> Watched:
    """Submit a job whose first task adds a line to the ledger, and whose tasks go on with `command`."""
    folder_of_alice(folder)
    # Modules have jobs of the same kind, and the accounting counts by name.
    name = f"{folder.parent.name}-{folder.name}-{os.getpid()}".replace("_", "-")
    job = Watched(cluster, folder, name, home or folder / "home")
    line = f'[ "$PAI_TASK_INDEX" != 0 ] || echo "$FC_FRAMEWORK_ATTEMPT_ID $SLURM_JOB_ID" >> {folder}/ledger'
    text = job_text(job.name, role("w", tasks, f"{line}; {command}", failed=failed), extras)
    text = text.replace("cpu: 1", f"cpu: {cpus}") + f"jobRetryCount: {retries}\n"
    (folder / "job.yaml").write_text(text.replace("memoryMB: 100", f"memoryMB: {memory}"))
    settings = (partitions or profile("watched")) + (site or "retry: {maxTransientRetries: 2}\n")
    quick = "" if "monitor:" in settings else "monitor: {maxPollInterval: 2}\n"
    (folder / "site.yaml").write_text(settings + quick)
    for path in folder.iterdir():
        path.chmod(0o644)
    done = job.run("submit", "job.yaml", env=env)
    assert done.returncode == 0, done.stderr
    return job


def check(fault: str, job: Watched, state: str, code: int, attempts: int) -> dict[str, Any]:
    """Wait for the job's end; see how it ended, and that all counts agree."""
    shown = job.ended()
    counts = job.counts()
    COUNTED.append((fault, counts, f"{shown['state']} {shown['exit_code']}"))
    assert (shown["state"], shown["exit_code"]) == (state, code), shown["reason"]
    assert counts == (attempts, attempts, attempts)
    assert [line.split()[0] for line in job.lines()] == [str(number) for number in range(attempts)]
    assert sorted((line.split()[1] for line in job.lines()), key=int) == job.job_ids()
    return shown
