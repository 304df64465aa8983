"""Jobs that a monitor looks after, each in a home of its own, and what can be counted of them from outside."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.cluster.jobs import folder_of_alice, job_text, profile, role
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster

LONGEST = 330
"""Seconds: a lock goes stale after 60, an attempt of which nothing is known is given up after 180."""


@dataclass(frozen=True)
class Watched:
    """A job of alice's, its home and its ledger, to which each attempt's command adds a line."""

    cluster: Cluster
    folder: Path
    name: str

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def path(self) -> Path:
        return self.home / "jobs" / f"alice~{self.name}"

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
        claims = list(self.path.glob("attempts/*/claim/owner"))
        # The accounting is late, most of all when its daemon has just come back.
        wait_until(lambda: len(self.job_ids()) >= len(claims), f"the accounting to know {self.name}", 60)
        return len(self.job_ids()), len(claims), len(self.lines())

    def journal(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.path / "journal.jsonl").read_text().splitlines() if line]


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
) -> Watched:
    """Submit a job whose command adds a line to the ledger and goes on with `command`."""
    folder_of_alice(folder)
    job = Watched(cluster, folder, f"m{folder.name}-{os.getpid()}".replace("_", "-"))
    line = f'echo "$FC_FRAMEWORK_ATTEMPT_ID $SLURM_JOB_ID" >> {folder}/ledger'
    text = job_text(job.name, role("w", 1, f"{line}; {command}"), extras) + f"jobRetryCount: {retries}\n"
    (folder / "job.yaml").write_text(text.replace("memoryMB: 100", f"memoryMB: {memory}"))
    (folder / "site.yaml").write_text((partitions or profile("watched")) + (site or "retry: {transientCeiling: 2}\n"))
    for path in folder.iterdir():
        path.chmod(0o644)
    done = job.run("submit", "job.yaml", env=env)
    assert done.returncode == 0, done.stderr
    return job
