"""Run scripts on this machine by the local backend, and see what they print."""

from __future__ import annotations

from pathlib import Path

from paislurm.backends.base import JobId, Observation, Submission
from paislurm.backends.local.backend import LocalBackend
from paislurm.backends.slurm_emulator import processes
from tests.cluster.processes import wait_until


class Runs:
    """A local backend in a folder of its own, and what its scripts print."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.backend = LocalBackend(self.home)
        self.jobs: list[JobId] = []

    def submit(self, commands: str, directives: str = "", tag: str = "tag") -> JobId:
        work = self.folder / f"job-{len(self.jobs)}"
        work.mkdir()
        script = work / "job.sbatch"
        script.write_text(f"#!/usr/bin/env bash\n{directives}{commands}\n", encoding="utf-8")
        submission = Submission(script=script, folder=work, job="job", attempt=0, tag=tag, log=work / "slurm.log")
        job_id = self.backend.submit(submission).job_id
        self.jobs.append(job_id)
        return job_id

    def observe(self, job_id: JobId) -> Observation:
        return self.backend.observe([job_id])[job_id]

    def end(self, job_id: JobId) -> Observation:
        wait_until(lambda: self.observe(job_id).final, "the end of the job")
        return self.observe(job_id)

    def work(self, job_id: JobId) -> Path:
        return self.folder / f"job-{self.jobs.index(job_id)}"

    def log(self, job_id: JobId) -> list[str]:
        """Return the lines of the log but for what bash says of a child that was ended by a signal."""
        lines = (self.work(job_id) / "slurm.log").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if "Terminated" not in line]

    def run(self, commands: str, directives: str = "") -> list[str]:
        """Return what the script printed; it must succeed."""
        job_id = self.submit(commands, directives)
        ended = self.end(job_id)
        assert ended.state == "COMPLETED", (ended, self.log(job_id))
        return self.log(job_id)

    def process_filter(self, job_id: JobId) -> processes.ProcessFilter:
        return processes.ProcessFilter(self.home / "local" / job_id)

    def wait_for_nothing(self, job_id: JobId) -> None:
        """Wait until no process is left; the supervisor itself is there for a moment longer than the job."""
        wait_until(lambda: not processes.members(self.process_filter(job_id)), "the end of all processes")

    def wait_for_line(self, job_id: JobId, line: str) -> None:
        wait_until(lambda: line in self.log(job_id), f"'{line}'")
