"""What the contract suite needs of a cluster, be it one of the project's own or one that somebody has."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.config import has_real_limits
from tests.cluster.instance import ALICE, GROUP_ID, LOGIN, USERS, require_privilege, unprivileged
from tests.cluster.jobs import ONE_ATTEMPT, ROOT, SITE, job_text, read_log, read_script
from tests.cluster.kinds import SLURMS as OURS
from tests.cluster.processes import wait_until
from tests.documents import check_output

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.cluster.cluster import Cluster
    from tests.contract.backends import Way

PROFILE = os.environ.get("PAISLURM_CONTRACT_PROFILE")
SLURMS = ["site"] if PROFILE else list(OURS)
"""Where the suite runs: on the project's own clusters, or on the one that a profile describes."""
LONGEST = 300
"""Seconds for any single command; a machine that does much besides may need many of them."""
OF_TASKS = re.compile(
    r"srun: (error|warning|launch/slurm|Job step|Terminating|Force Terminated).*"
    r"(Exited with exit code|Terminated|Killed|Aborted|terminated|aborted|Terminating|[Oo]ut [Oo]f [Mm]emory)"
    r"|srun: (Job step aborted: .*|got SIGCONT|forcing job termination)$"
    r"|slurmstepd: error: \*\*\* (STEP|JOB) .* ON .* CANCELLED AT .*"
    r"|scancel: error: Kill job error on job step id \d+: (Invalid job id specified|Job/step already complet.*)"
)
"""What Slurm says of tasks that failed or were stopped, and of steps that ended before they were stopped."""

NO_BINDING = "srun: cluster configuration lacks support for cpu binding"
"""What 22.05 without a task plugin says of --cpu-bind=none."""


@dataclass
class Site:
    """A cluster, and the user who tries it.

    `cluster` is one of the project's own, with the hands of its administrator; None for one that somebody has.
    """

    slurm: str
    """The version of Slurm, as it says."""
    folder: Path
    """The user's, on a file system that all nodes share."""
    profile: str
    """The text of the site profile."""
    cluster: Cluster | None = None
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(1, 10_000)))

    @property
    def user(self) -> str:
        return ALICE if self.cluster else str(Path("~").expanduser().owner())

    @property
    def tracks_by_parents(self) -> bool:
        """Whether Slurm has no control groups, as in the root trees (proctrack/linuxproc)."""
        return self.cluster is not None and not has_real_limits(self.cluster.instance)

    def require(self, privilege: str) -> None:
        """Skip a case on a cluster of the project's own that does without a privilege."""
        if self.cluster:
            require_privilege(privilege)

    @property
    def administrator(self) -> Cluster:
        """The administrator's hands; a case that needs them is skipped on a cluster that somebody has."""
        if self.cluster is None:
            pytest.skip("needs the hands of the cluster's administrator")
        return self.cluster

    def run(
        self,
        *argv: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        host: str = LOGIN,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as the user on the login node, or on another host of the project's own clusters."""
        where = cwd or self.folder
        if self.cluster:
            return self.cluster.run(argv, host=host, cwd=where, env=env, stdin=stdin, timeout=LONGEST)
        command = self.command(argv, cwd=where, env=env)
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=LONGEST, check=False)

    def command(
        self, argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None, host: str = LOGIN
    ) -> list[str]:
        """Return the command line that runs a command so, by exec alone."""
        where = cwd or self.folder
        if self.cluster:
            return self.cluster.command(argv, host=host, cwd=where, env=env)
        variables = {**(env or {}), "PATH": f"{ROOT}/.venv/bin:{os.environ['PATH']}"}
        return ["env", f"--chdir={where}", *(f"{name}={value}" for name, value in variables.items()), *argv]

    def environment(self) -> Mapping[str, str]:
        """Return what the user's commands have on the login node."""
        return self.cluster.environment("alice") if self.cluster else os.environ

    def own(self, path: Path) -> Path:
        """Make a folder that is the user's."""
        path.mkdir(parents=True)
        if self.cluster:
            os.chown(path, USERS["alice"].uid, GROUP_ID)
        return path

    def write(self, folder: Path, name: str, text: str) -> Path:
        path = folder / name
        path.write_text(text)
        path.chmod(0o644)
        return path

    def described(
        self, folder: Path, name: str, roles: str, extras: str = "", settings: str = ONE_ATTEMPT, *, retries: int = 0
    ) -> Job:
        """Write a job file `<name>.yaml` and a site profile into a folder, which has the home; nothing is submitted."""
        self.write(folder, "site.yaml", merged(self.profile, settings))
        text = with_retries(job_text(name, roles, extras), retries)
        return Job(self, folder, self.write(folder, f"{name}.yaml", text), name)

    def submit(
        self,
        folder: Path,
        roles: str,
        extras: str = "",
        settings: str = ONE_ATTEMPT,
        *,
        file: Path | None = None,
        partition: str = "",
        way: Way | None = None,
        retries: int = 0,
        env: Mapping[str, str] | None = None,
    ) -> Job:
        """Submit a job of these roles, or the job file; each job has a home of its own below the folder.

        `env` are variables that the user's commands have beside their own. All that is done with the job goes the
        `way`, where there is one.
        """
        here = self.own(folder / f"job{next(self.numbers)}")
        text = file.read_text() if file else job_text(f"{folder.name[:40]}-{here.name}", roles, extras)
        profile = self.profile.replace("normal", partition) if partition else self.profile
        self.write(here, "site.yaml", merged(profile, settings))
        job = Job(self, here, self.write(here, "job.yaml", with_retries(text, retries)), more=env or {})
        if way:
            job.host, job.more = way.host, {**job.more, **way.environment(self)}
        done = job.paislurm("submit", "--json", *(way.words if way else ()), "job.yaml")
        assert done.returncode == 0, done.stderr
        assert not spoken(done.stderr), done.stderr
        job.name = json.loads(done.stdout)["job"].rpartition("~")[2]
        return job


@dataclass
class Job:
    """A job that the user has submitted."""

    site: Site
    folder: Path
    file: Path
    name: str = ""
    host: str = LOGIN
    more: Mapping[str, str] = field(default_factory=dict)
    """Variables that commands have beside those that name the home and the site profile."""

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def env(self) -> dict[str, str]:
        return {"PAISLURM_HOME": str(self.home), "PAISLURM_SITE": str(self.folder / "site.yaml"), **self.more}

    @property
    def path(self) -> Path:
        return self.home / "jobs" / f"{self.site.user}~{self.name}"

    def attempt(self, number: int = 0) -> Path:
        return self.path / "attempts" / str(number)

    def paislurm(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Call paislurm in the job's folder; a document that it prints is held against the schema."""
        done = self.site.run("paislurm", *words, cwd=self.folder, env=self.env, stdin=stdin, host=self.host)
        if done.stdout:
            check_output(words, done.stdout)
        return done

    def status(self) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(self.paislurm("status", "--json", "--", self.name).stdout)
        return shown

    @property
    def number(self) -> str:
        """The Slurm id of the latest attempt."""
        records = map(json.loads, (self.path / "journal.jsonl").read_text().splitlines())
        return str([record["job_id"] for record in records if record["kind"] == "submitted"][-1])

    def log(self, task: str, name: str = "stdout.log", attempt: int = 0) -> str:
        """Return what a task printed; it is named `<role folder>/<index>`."""
        return read_log(self.attempt(attempt), task, name)

    def script(self, attempt: int = 0) -> str:
        """Return the script of an attempt: its head alone, once the attempt is tidied."""
        return read_script(self.attempt(attempt))

    def wait_for(self, text: str, *tasks: str) -> None:
        """Wait until these tasks have printed a text."""
        files = [self.attempt() / "logs" / f"{task}.stdout.log" for task in tasks]
        what = f"{text!r} of {', '.join(tasks)} of {self.name}"
        wait_until(lambda: all(file.exists() and text in file.read_text() for file in files), what, LONGEST)

    def ended(self, *, attempt: int = 0, loud: bool = False) -> tuple[int, dict[str, Any]]:
        """Wait for the end; return the exit code of `paislurm wait` and the attempt's result.json.

        Slurm has nothing to say but of tasks that failed, unless the case is `loud`.
        """
        done = self.paislurm("wait", "--", self.name)
        result = self.attempt(attempt) / "result.json"
        assert result.exists(), done.stderr + self.said()
        if not loud:
            assert not spoken(self.said()), self.said()
        return done.returncode, json.loads(result.read_text())

    def over(self) -> tuple[str, int, str]:
        """Wait for the end; return the job's state, code and reason by `paislurm status`."""
        self.paislurm("wait", "--", self.name)
        assert not spoken(self.said()), self.said()
        shown = self.status()
        return shown["state"], shown["exit_code"], shown["reason"]

    def said(self) -> str:
        """Return what the batch script and every srun wrote to their standard errors."""
        files = [file for file in sorted(self.path.glob("attempts/*/s*/*.log")) if file.parent.name == "srun"]
        files += sorted(self.path.glob("attempts/*/slurm.log"))
        return "".join(f"== {file.relative_to(self.path)}\n{file.read_text()}" for file in files)


def spoken(text: str) -> list[str]:
    """Return the lines that are Slurm's, and not of tasks."""
    return [
        line
        for line in text.splitlines()
        if re.match(r"(srun|sbatch|scancel|slurmstepd|slurmd|squeue|sacct|scontrol): ", line)
        and not OF_TASKS.match(line)
        and not (line == NO_BINDING and unprivileged())
    ]


def with_retries(text: str, retries: int) -> str:
    return text.replace("type: job\n", f"type: job\njobRetryCount: {retries}\n") if retries else text


def merged(profile: str, settings: str) -> str:
    """Return a site profile with settings in the place of its own of the same names."""
    keys = re.findall(r"^(\w+):", settings, re.MULTILINE)
    kept = re.split(r"(?m)^(?=\w+:)", profile)
    return "".join(part for part in kept if part.partition(":")[0] not in keys) + settings


def profile_of(path: str | None) -> str:
    return Path(path).read_text() if path else SITE.read_text()
