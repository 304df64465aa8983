"""Run scripts on this machine: the very same script, with stand-ins for Slurm's programs on its PATH.

It is no scheduler: a job starts at once, whatever it asks for. All its nodes are `localhost`.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import TYPE_CHECKING, Any

from paislurm.translator.errors import Diagnostic, NotFoundError, RejectedError

from ..base import JobId, Observation
from ..runner import become
from ..slurm_emulator import files, processes, records
from ..slurm_emulator.scancel import end_job
from .environment import called_environment, job_environment
from .records import is_state, optional_int
from .script import job_record

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..base import Options, RunFolder, Submission

PROGRAMS = ("srun", "scontrol", "scancel")

_LAUNCH = (
    "import sys; sys.path.insert(0, sys.argv[1]); from slurm_emulator.{} import main; sys.exit(main(sys.argv[2:]))"
)
"""Starts a stand-in without the site's packages: 10 ms instead of 60."""


class LocalBackend:
    """Start scripts on this machine and know them by the folders `<home>/local/<id>`."""

    name = "local"

    def __init__(self, home: Path) -> None:
        self._jobs = home / "local"

    def submit(self, submission: Submission) -> JobId:
        """Start the script and return once it runs; it goes on when the caller ends."""
        script = files.read_text(submission.script)
        if ":" in str(self._jobs.absolute()):
            message = f"{self._jobs} has a colon in its path, so that its programs cannot be on PATH"
            raise RejectedError(Diagnostic(code="E504", message=message, hint="choose another folder as PAISLURM_HOME"))
        job_id = str(records.take_number(self._jobs, 1))
        folder = (self._jobs / job_id).absolute()
        record = job_record(submission, script)
        records.write_json(folder / "job.json", record)
        caller = os.environ if submission.environment is None else submission.environment
        environment = job_environment(caller, script, record, job_id, folder, _write_programs(folder))
        error = _start(folder, environment)
        if error:
            diagnostic = Diagnostic(code="E504", message=f"the script cannot be started: {error}")
            raise RejectedError(diagnostic, argv=tuple(record["argv"]), stderr=error)
        return JobId(job_id)

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        """Return how jobs stand; the job of a supervisor that is gone counts as lost with its node."""
        found = ((job_id, self._observe(job_id)) for job_id in ids)
        return {job_id: observation for job_id, observation in found if observation}

    def version(self) -> str:
        """Return nothing: this is no Slurm."""
        return ""

    def find(self, tags: Collection[str]) -> Mapping[str, JobId]:
        """Return the jobs that were submitted with these tags."""
        found = ((records.read_json(record), JobId(record.parent.name)) for record in self._jobs.glob("*/job.json"))
        return {job["tag"]: job_id for job, job_id in found if job and job.get("tag") in tags}

    def fetch(self, run_folders: Collection[RunFolder]) -> bool:  # noqa: ARG002 - as in Backend
        """Bring nothing: it is here."""
        return False

    def folder(self, run_folder: RunFolder) -> Path:
        """Return the folder: it is here."""
        return run_folder.folder

    def forget(self, run_folder: RunFolder) -> None:
        """Remove nothing: who writes the end into the journal has removed the secrets."""

    def attach(self, argv: list[str], job_id: JobId, *, terminal: bool) -> int:  # noqa: ARG002 - as in Backend
        """Become the program, with the stand-ins of the job first on its PATH."""
        return become(argv, called_environment(os.environ, (self._jobs / job_id).absolute()))

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:  # noqa: ARG002 - all of them are this machine
        """Return none: there is no other machine to go to."""
        return {}

    def cancel(self, *job_ids: JobId) -> None:
        """TERM to the batch scripts and all tasks of jobs, KILL after a grace."""
        for job_id in job_ids:
            self._cancel(job_id)

    def options(self, ids: Collection[JobId]) -> Mapping[JobId, Options]:  # noqa: ARG002 - as in Backend
        """Return nothing: none of them means anything here."""
        return {}

    def change(self, job_id: JobId, values: Mapping[str, str], before: Options = ()) -> None:  # noqa: ARG002 - as in Backend
        """Refuse: a job here has begun at once, with no limit and on no partition."""
        raise RejectedError(Diagnostic(code="E622", message=f"nothing can be changed of local job {job_id}"))

    def _cancel(self, job_id: JobId) -> None:
        folder = (self._jobs / job_id).absolute()
        state = records.read_json(folder / "state.json")
        if state is None or not is_state(state):
            raise NotFoundError(Diagnostic(code="E520", message=f"there is no local job {job_id}"))
        if "ended" not in state:
            end_job(folder, state)

    def _observe(self, job_id: JobId) -> Observation | None:
        folder = (self._jobs / job_id).absolute()
        job, state = records.read_json(folder / "job.json"), records.read_json(folder / "state.json")
        if job is None or state is None or not is_state(state):
            return None
        if "ended" not in state and _is_lost(folder, state):
            newer = records.read_json(folder / "state.json")
            state = newer if newer is not None and is_state(newer) else state
            if "ended" not in state:
                state |= _loss(folder)
        return _observation(job_id, job, state)


def _write_programs(folder: Path) -> Path:
    """Write the stand-ins as programs of the job, and return their folder.

    Bash hands on functions that a shell has exported, which dash does not; with -p it takes none for itself.
    """
    programs = folder / "bin"
    programs.mkdir(mode=0o700)
    for program in PROGRAMS:
        path = programs / program
        files.write_text(path, f'#!/bin/bash -p\nexec {shlex.join(_command(program))} "$@"\n')
        path.chmod(0o700)
    return programs


def _command(module: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", _LAUNCH.format(module), str(Path(__file__).resolve().parents[1])]


def _start(folder: Path, environment: Mapping[str, str]) -> str:
    """Start the job's supervisor and wait for its word; return what went wrong, else ""."""
    with open(folder / "supervisor.log", "wb", opener=files.private) as log:
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
    with supervisor.stdout as answer:
        said = answer.read().decode(errors="replace").strip()
        if said == "started":
            # It outlives this process, which is not to wait for it, nor to warn of that.
            supervisor.returncode = 0
            return ""
    supervisor.wait()
    return said or (folder / "supervisor.log").read_text(encoding="utf-8", errors="replace").strip()


def _is_lost(folder: Path, state: Mapping[str, Any]) -> bool:
    """Tell whether nothing of a job runs any more. Of another machine's jobs this one knows nothing."""
    if state["host"] != os.uname().nodename:
        return False
    if state["boot"] != processes.boot_id():
        return True
    supervisor = processes.process(state["supervisor"])
    if supervisor and supervisor.started == state["supervisor_started"]:
        return False
    return not processes.members(processes.ProcessFilter(folder))


def _loss(folder: Path) -> dict[str, Any]:
    """Return the end of a job that nobody saw."""
    cancelled = folder / "cancelled"
    word = f"CANCELLED by {cancelled.stat().st_uid}" if cancelled.exists() else "NODE_FAIL"
    reason = "its supervisor is gone: the machine was restarted, or the process killed"
    return {"state": word, "reason": reason, "status": 0, "signal": 9, "ended": None}


def _observation(job_id: JobId, job: Mapping[str, Any], state: Mapping[str, Any]) -> Observation:
    return Observation(
        job_id=job_id,
        state=(state["state"].split() or [""])[0],
        raw_state=state["state"],
        final="ended" in state,
        status=optional_int(state.get("status")),
        signal=optional_int(state.get("signal")),
        reason=state["reason"],
        nodes="localhost",
        submitted=optional_int(job.get("submitted")),
        started=state["started"],
        ended=optional_int(state.get("ended")),
    )
