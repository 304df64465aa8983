"""Run batch scripts on this machine, with stand-ins for Slurm's programs on PATH.

This is not a scheduler: a job starts at once, whatever resources it requests. All its nodes are `localhost`.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.translator.errors import Diagnostic, NotFoundError, RejectedError
from paislurm.translator.files.private import make_private, open_private, write_new
from paislurm.translator.files.reading import read_text

from ..base import Accepted, JobId, Observation, SharedFolders
from ..runner import become, environment_of_process
from ..slurm_emulator import processes, records
from ..slurm_emulator.scancel import end_job
from .local_job import State, called_environment, job_environment, job_record, read_job, read_state

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..base import Submission
    from ..runner import Environment

PROGRAMS = ("srun", "scontrol", "scancel")

_LAUNCH = (
    "import sys; sys.path.append(sys.argv[1]); from paislurm.backends.slurm_emulator.{} import main; "
    "sys.exit(main(sys.argv[2:]))"
)
"""Starts a stand-in without site packages: 10 ms instead of 60."""


class LocalBackend(SharedFolders):
    """Run scripts on this machine. Each job has a folder `<home>/local/<id>`."""

    name = "local"

    def __init__(self, home: Path, environment: Environment = environment_of_process) -> None:
        self._jobs = home / "local"
        self._environment = environment

    def submit(self, submission: Submission) -> Accepted:
        """Start the script and return once it runs. It continues after the caller exits."""
        script = read_text(submission.script)
        if ":" in str(self._jobs.absolute()):
            message = f"{self._jobs} contains a colon, so its programs cannot be on PATH"
            raise RejectedError(Diagnostic(code="E504", message=message, hint="set PAISLURM_HOME to another folder"))
        job_id = str(records.take_number(self._jobs, 1))
        folder = (self._jobs / job_id).absolute()
        record = job_record(submission, script)
        records.write_json(folder / "job.json", record)
        caller = self._environment() if submission.environment is None else submission.environment
        environment = job_environment(caller, script, record, job_id, folder, _write_programs(folder))
        error = _start(folder, environment)
        if error:
            diagnostic = Diagnostic(code="E504", message=f"the script cannot be started: {error}")
            raise RejectedError(diagnostic, argv=tuple(record["argv"]), stderr=error)
        return Accepted(JobId(job_id))

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        """Return the observations of jobs. If a job's supervisor is gone, the job's node counts as lost."""
        found = ((job_id, self._observe(job_id)) for job_id in ids)
        return {job_id: observation for job_id, observation in found if observation}

    def version(self) -> str:
        """Return "": this backend has no Slurm."""
        return ""

    def find(self, tags: Collection[str]) -> Mapping[str, JobId]:
        """Return the jobs submitted with these tags, by tag."""
        found = ((read_job(record.parent), JobId(record.parent.name)) for record in self._jobs.glob("*/job.json"))
        return {job.tag: job_id for job, job_id in found if job and job.tag in tags}

    def attach(self, argv: list[str], job_id: JobId, *, terminal: bool) -> int:  # noqa: ARG002 - as in Backend
        """Replace this process by the program, with the job's stand-ins first on PATH."""
        return become(argv, called_environment(self._environment(), (self._jobs / job_id).absolute()))

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:  # noqa: ARG002 - all of them are this machine
        """Return nothing: the only node is this machine."""
        return {}

    def known_nodes(self, nodes: Collection[str], cluster: str = "") -> frozenset[str]:  # noqa: ARG002 - as in Backend
        """Return all of them: no node is ever avoided here."""
        return frozenset(nodes)

    def cancel(
        self,
        *job_ids: JobId,
        names: Mapping[JobId, str] | None = None,  # noqa: ARG002 - no number is reused here
    ) -> None:
        """Send TERM to the batch scripts and all tasks of jobs, and KILL after the grace time."""
        for job_id in job_ids:
            self._cancel(job_id)

    def change(self, job_id: JobId, values: Mapping[str, str]) -> None:  # noqa: ARG002 - as in Backend
        """Refuse: a local job has no time limit, partition or account to change."""
        raise RejectedError(
            Diagnostic(code="E622", message=f"local job {job_id} has no queue, time limit or partition to change")
        )

    def _cancel(self, job_id: JobId) -> None:
        folder = (self._jobs / job_id).absolute()
        state = read_state(folder)
        if state is None:
            raise NotFoundError(Diagnostic(code="E520", message=f"no local job {job_id} exists"))
        if state.ended is None:
            end_job(folder, state.supervisor, state.supervisor_started)

    def _observe(self, job_id: JobId) -> Observation | None:
        folder = (self._jobs / job_id).absolute()
        job, state = read_job(folder), read_state(folder)
        if job is None or state is None:
            return None
        is_lost = False
        if state.ended is None and _is_lost(folder, state):
            state = read_state(folder) or state
            if is_lost := state.ended is None:
                state = _lost(folder, state)
        return Observation(
            job_id=job_id,
            state=(state.state.split() or [""])[0],
            raw_state=state.state,
            final=is_lost or state.ended is not None,
            status=state.status,
            signal=state.signal,
            reason=state.reason,
            nodes="localhost",
            submitted=job.submitted,
            started=state.started,
            ended=state.ended,
        )


def _write_programs(folder: Path) -> Path:
    """Write the stand-ins as programs of the job. Return their folder.

    Bash inherits exported shell functions, dash does not; `bash -p` ignores them.
    """
    programs = folder / "bin"
    make_private(programs)
    for program in PROGRAMS:
        text = f'#!/bin/bash -p\nexec {shlex.join(_command(program))} "$@"\n'
        write_new(programs / program, text.encode(), 0o700)
    return programs


def _command(module: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", _LAUNCH.format(module), str(Path(__file__).parents[3])]


def _start(folder: Path, environment: Mapping[str, str]) -> str:
    """Start the job's supervisor and wait for its report. Return the error, "" if none."""
    with open_private(folder / "supervisor.log", "wb") as log:
        supervisor = Popen(
            [*_command("supervisor"), str(folder)],
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=log,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
    assert supervisor.stdout is not None
    with supervisor.stdout as output:
        report = output.read().decode(errors="replace").strip()
        if report == "started":
            # The supervisor outlives this process: do not wait for it, and suppress the warning about it.
            supervisor.returncode = 0
            return ""
    supervisor.wait()
    return report or (folder / "supervisor.log").read_text(encoding="utf-8", errors="replace").strip()


def _is_lost(folder: Path, state: State) -> bool:
    """Return whether no process of a job is left. False for a job of another machine, whose processes are unknown."""
    if state.host != os.uname().nodename:
        return False
    if state.boot != processes.boot_id():
        return True
    supervisor = processes.process(state.supervisor)
    if supervisor and supervisor.started == state.supervisor_started:
        return False
    return not processes.members(processes.ProcessFilter(folder))


def _lost(folder: Path, state: State) -> State:
    """Return the final state of a job whose supervisor is gone."""
    cancelled = folder / "cancelled"
    word = f"CANCELLED by {cancelled.stat().st_uid}" if cancelled.exists() else "NODE_FAIL"
    reason = "its supervisor is gone: the machine was restarted, or the process was killed"
    return replace(state, state=word, reason=reason, status=0, signal=9)
