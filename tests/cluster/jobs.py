"""Job files for the cluster, and what a user does with them."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from paislurm.translator.state.tidy import is_tidied
from tests.cluster.instance import ALICE, GROUP_ID, USERS, machine_address
from tests.cluster.processes import wait_until
from tests.documents import check_output

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence

    from tests.cluster.cluster import Cluster

ROOT = Path(__file__).parents[2]
SITE = ROOT / "examples" / "site.yaml"
STANDIN = Path(__file__).with_name("standin.sh")
HEAD = """protocolVersion: 2
name: NAME
type: job
prerequisites: [{name: plain, type: dockerimage, uri: debian}]
"""
ONE_ATTEMPT = "retry: {maxTransientRetries: 0}\nmonitor: {background: false, maxPollInterval: 2}\n"
"""What most tests look at is how one attempt ends; retries have tests of their own."""
WHERE = 'echo "$SLURMD_NODENAME $PAI_CURRENT_TASK_ROLE_NAME-$PAI_TASK_INDEX $PWD"'
"""Where a task is: its node, its name and its folder."""
ADDRESS = rf"\b(?:10\.\d+\.\d+\.\d+|{re.escape(machine_address())})\b"
"""A pattern of the hosts' addresses."""
BOTH = pytest.mark.parametrize("layout", ["het", "shared"])


def profile_of_v1(layout: str = "het") -> str:
    """Return a site profile with the virtual cluster that published jobs of protocol v1 name.

    The site has nodes enough for a component for each role, or with `shared` two nodes, which are too few.
    """
    known = "virtualClusters:\n"
    text = SITE.read_text().replace(known, f"{known}  your_virtual_cluster: {{partition: normal}}\n") + ONE_ATTEMPT
    return text + "layout: het\n" if layout == "het" else text.replace("normal", "pair").replace("count: 4", "count: 2")


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
    """Write a job file and a site profile; return the job's name: that of the folder in the test's own one."""
    name = f"j{folder.parent.name[-12:]}-{folder.name[-40:]}".replace(".", "-")
    (folder / "job.yaml").write_text(job_text(name, roles, extras))
    (folder / "site.yaml").write_text(profile(partition) + settings)
    for path in (folder / "job.yaml", folder / "site.yaml"):
        path.chmod(0o644)
    return name


def folder_of_alice(path: Path) -> Path:
    """Make a folder that is alice's."""
    path.mkdir()
    os.chown(path, USERS["alice"].uid, GROUP_ID)
    return path


def paislurm(
    cluster: Cluster, folder: Path, *words: str, env: dict[str, str] | None = None, timeout: int = 120
) -> subprocess.CompletedProcess[str]:
    """Call paislurm as alice in a folder, whose site profile is that of all commands."""
    site = {"PAISLURM_SITE": str(folder / "site.yaml")} if (folder / "site.yaml").exists() else {}
    done = cluster.run(["paislurm", *words], cwd=folder, env=site | (env or {}), timeout=timeout)
    if done.stdout:
        check_output(words, done.stdout)
    return done


@dataclass(frozen=True)
class Submitted:
    """A job that alice has submitted from a folder, and its attempt's folder."""

    cluster: Cluster
    folder: Path
    name: str
    """As the job is addressed, such as `NAME@2`."""
    home: Path

    @property
    def attempt(self) -> Path:
        return self.home / "jobs" / f"{ALICE}~{self.name}" / "attempts" / "0"

    def ended(self, timeout: int = 120) -> tuple[int, dict[str, Any]]:
        """Wait for the end; return the exit code of `paislurm wait`, and result.json."""
        environment = {"PAISLURM_HOME": str(self.home)}
        argv = ["wait", "--", f"{ALICE}~{self.name}"]
        done = paislurm(self.cluster, self.folder, *argv, env=environment, timeout=timeout)
        log = self.attempt / "slurm.log"
        assert (self.attempt / "result.json").exists(), done.stderr + (log.read_text() if log.exists() else "")
        return done.returncode, json.loads((self.attempt / "result.json").read_text())

    def work(self, task: str) -> Path:
        """Return the folder that a task runs in; the task is named `<role folder>/<index>`."""
        return self.attempt / "work" / task

    def places(self, tasks: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """Return what `WHERE` prints in each task, by the tasks' names; `tasks` are as JSON of ours has them."""
        roles = list(dict.fromkeys(task["role"] for task in tasks))
        found = {}
        for task in tasks:
            name = f"{task['role']}-{task['index']}"
            folder = self.work(f"{roles.index(task['role'])}-{task['role']}/{task['index']}")
            found[name] = f"{task['node']} {name} {folder}"
        return found

    def calls(self) -> str:
        """Return the folder for calls that each node of the job has; ask before `ended`, which tidies."""
        placement, found = self.attempt / "placement.sh", []

        def is_placed() -> bool:
            text = placement.read_text() if placement.exists() else ""
            found.extend(re.findall(r"^PSL_NODE_FOLDER=(.*)$", text, re.MULTILINE))
            return bool(found)

        wait_until(is_placed, f"the tasks of {self.name} to be placed", 120)
        return str(found[0])

    def log(self, task: str, name: str = "stdout.log") -> str:
        """Return what a task printed; the task is named as for `work`."""
        return read_log(self.attempt, task, name)

    def script(self) -> str:
        """Return the script: its head alone, once the attempt is tidied."""
        return read_script(self.attempt)


def read_log(attempt: Path, task: str, name: str) -> str:
    """Return the log of a task; one without text goes when the attempt is tidied."""
    path = attempt / "logs" / f"{task}.{name}"
    return "" if is_tidied(attempt) and not path.exists() else path.read_text()


def read_script(attempt: Path) -> str:
    """Return the script of an attempt: its head alone, once the attempt is tidied."""
    whole = attempt / "job.sbatch"
    return (attempt / "job.head" if is_tidied(attempt) else whole).read_text()


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
    return Submitted(cluster, folder, json.loads(done.stdout)["name"].rpartition("~")[2], home)


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


def submit_published(
    cluster: Cluster,
    file: Path,
    folder: Path,
    programs: Mapping[str, Path],
    *,
    site: str = "",
    env: dict[str, str] | None = None,
) -> Submitted:
    """Submit a published job file as a user does who has these programs on PATH; `site` is the site profile."""
    shutil.copy(file, folder / file.name)
    (folder / "site.yaml").write_text(site or SITE.read_text())
    (folder / "bin").mkdir()
    for name, program in programs.items():
        shutil.copy(program, folder / "bin" / name)
    environment = {
        "PATH": f"{folder}/bin:{cluster.environment('alice')['PATH']}",
        "STANDIN_LOG": str(folder_of_alice(folder / "log")),
        **(env or {}),
    }
    # Images, ssh between tasks and InfiniBand are for later, and no stand-in needs them.
    return submit_file(cluster, folder, file.name, home=folder / "home", env=environment)


def states(result: dict[str, Any]) -> list[str]:
    return [f"{task['role']}-{task['index']} {task['state']}" for task in result["tasks"]]
