"""Job files for the cluster, and what a user does with them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.instance import GROUP_ID, USERS

if TYPE_CHECKING:
    import subprocess

    from tests.cluster.cluster import Cluster

ROOT = Path(__file__).parents[2]
SITE = ROOT / "examples" / "site.yaml"
HEAD = """protocolVersion: 2
name: NAME
type: job
prerequisites: [{name: plain, type: dockerimage, uri: debian}]
"""
ONE_ATTEMPT = "retry: {transientCeiling: 0}\nmonitor: {background: false}\n"
"""What most tests look at is how one attempt ends; retries have tests of their own."""
BOTH = pytest.mark.parametrize("layout", ["het", "shared"])


def role(name: str, count: int, command: str, *, failed: int = 1, succeeded: int = -1, more: str = "") -> str:
    return f"""  {name}:
    instances: {count}
    completion: {{minFailedInstances: {failed}, minSucceededInstances: {succeeded}}}
    dockerImage: plain
    resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}
{more}    commands:
      - |
        {command}
"""


def job_text(name: str, roles: str, extras: str = "") -> str:
    return HEAD.replace("NAME", name) + "taskRoles:\n" + roles + (f"extras: {extras}\n" if extras else "")


def profile(partition: str) -> str:
    """Return the example's site profile with another partition in the place of `normal`."""
    return SITE.read_text().replace("normal", partition)


def write(folder: Path, roles: str, extras: str = "", settings: str = ONE_ATTEMPT, partition: str = "normal") -> str:
    """Write a job file and a site profile, and return the job's name, which is the folder's."""
    name = f"j{folder.name[-40:].replace('.', '-')}"
    (folder / "job.yaml").write_text(job_text(name, roles, extras))
    (folder / "site.yaml").write_text(profile(partition) + settings)
    for path in folder.iterdir():
        path.chmod(0o644)
    return name


def folder_of_alice(path: Path) -> Path:
    """Make a folder that is alice's."""
    path.mkdir()
    os.chown(path, USERS["alice"].uid, GROUP_ID)
    return path


def paislurm(
    cluster: Cluster, folder: Path, *words: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return cluster.run(["paislurm", *words], cwd=folder, env=env, timeout=120)


@dataclass(frozen=True)
class Submitted:
    """A job that alice has submitted from a folder, and its attempt's folder."""

    cluster: Cluster
    folder: Path
    name: str
    home: Path

    @property
    def attempt(self) -> Path:
        return self.home / "jobs" / f"alice~{self.name}" / "attempts" / "0"

    def ended(self) -> tuple[int, dict[str, Any]]:
        """Wait for the end; return the exit code of `paislurm wait`, and result.json."""
        environment = {"PAISLURM_HOME": str(self.home)}
        done = paislurm(self.cluster, self.folder, "wait", "--", f"alice~{self.name}", env=environment)
        log = self.attempt / "slurm.log"
        assert (self.attempt / "result.json").exists(), done.stderr + (log.read_text() if log.exists() else "")
        return done.returncode, json.loads((self.attempt / "result.json").read_text())

    def log(self, task: str, name: str = "stdout.log") -> str:
        """Return what a task printed; the task is named `<role folder>/<index>`."""
        return (self.attempt / "logs" / task / name).read_text()


def submit_file(
    cluster: Cluster,
    folder: Path,
    file: str = "job.yaml",
    *words: str,
    home: Path | None = None,
    env: dict[str, str] | None = None,
) -> Submitted:
    """Submit a job file of the folder with the folder's site profile."""
    home = home or cluster.home("alice") / ".paislurm"
    environment = {"PAISLURM_HOME": str(home), **(env or {})}
    argv = ["submit", "--json", "--site", "site.yaml", *words, "--", file]
    done = paislurm(cluster, folder, *argv, env=environment)
    assert done.returncode == 0, done.stderr
    return Submitted(cluster, folder, json.loads(done.stdout)["job"], home)


def submit(
    cluster: Cluster,
    folder: Path,
    roles: str,
    extras: str = "",
    settings: str = ONE_ATTEMPT,
    partition: str = "normal",
) -> Submitted:
    """Submit a job; several at once run side by side, each from a folder of its own."""
    write(folder, roles, extras, settings, partition)
    return submit_file(cluster, folder)


def run_job(cluster: Cluster, folder: Path, roles: str, extras: str = "") -> tuple[int, dict[str, Any]]:
    return submit(cluster, folder, roles, extras).ended()


def states(result: dict[str, Any]) -> list[str]:
    return [f"{task['role']}-{task['index']} {task['state']}" for task in result["tasks"]]
