"""Ann, who has a laptop without Slurm, and is alice at the login node."""

from __future__ import annotations

import itertools
import json
import os
import re
from typing import TYPE_CHECKING, Any

from tests.cluster.jobs import job_text
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.cluster.laptop import Laptop

NUMBERS = itertools.count(1)
WAYS = ("ssh", "fabric")
PROFILE = """defaultPartition: normal
partitions: {normal: {nodes: [{count: 4, cpus: 16, memoryMB: 1000000}], timeLimit: 1-00:00:00}}
retry: {maxTransientRetries: 0}
monitor: {background: false, maxPollInterval: 2}
"""


class Ann:
    """Ann at her laptop, with a home of paislurm for this case."""

    def __init__(self, laptop: Laptop, way: str, name: str, host: str = "login1") -> None:
        self.laptop = laptop
        self.name = f"{re.sub(r'[^a-z0-9]+', '-', name)[:40]}-{os.getpid()}-{next(NUMBERS)}"
        self.env = {"PAISLURM_HOME": f"/home/ann/{self.name}", "PAISLURM_TRANSPORT": way}
        profile = laptop.write(f"{self.name}-site.yaml", f"host: {host}\n{PROFILE}")
        self.env["PAISLURM_SITE"] = f"/home/ann/{profile.name}"

    def paislurm(self, *words: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return self.laptop.run("paislurm", *words, env={**self.env, **env}, stdin=stdin)

    def submit(self, roles: str, *words: str, extras: str = "", more: str = "") -> subprocess.CompletedProcess[str]:
        text = job_text(self.name, roles, extras) + more
        self.laptop.write(f"{self.name}.yaml", text)
        return self.paislurm("submit", f"{self.name}.yaml", *words)

    def status(self) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(self.paislurm("status", "--json", self.name).stdout)
        return shown

    @property
    def folder(self) -> Path:
        """The job's folder on the laptop."""
        return self.laptop.home / self.name / "jobs" / f"ann~{self.name}"

    @property
    def there(self) -> Path:
        """The job's folder at the login node."""
        (found,) = self.laptop.cluster.home("alice").glob(f".paislurm/remote/{self.name}.*")
        return found

    def was_submitted_once(self) -> bool:
        """Tell whether one Slurm job was submitted for this job, once the accounts know of any."""
        query = ["sacct", "-XnP", "--user=alice", f"--name={self.name}", "--format=JobID"]
        wait_until(lambda: bool(self.laptop.cluster.admin(query).split()), "the accounts to know the job")
        leaders = {row.partition("+")[0] for row in self.laptop.cluster.admin(query).split()}
        return len(leaders) == 1
