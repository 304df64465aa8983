"""The records of a local job, its command line and its environment variables."""

from __future__ import annotations

import os
import pwd
import signal
import time
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from msgspec import Meta, Struct, ValidationError, convert

from paislurm.translator.errors import Diagnostic, RejectedError

from ..batch_script import components, seconds
from ..runner import scrubbed
from ..slurm_emulator import processes
from ..slurm_emulator.processes import JOB_MARK
from ..slurm_emulator.records import VERSION, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ..base import Submission
    from ..batch_script import Component

WARNING_SECONDS = 60
"""Seconds before the time limit for a `--signal` without a time. Source: sbatch(1), --signal."""

T = TypeVar("T")
Count = Annotated[int, Meta(ge=0, le=1 << 53)]


class Job(Struct, frozen=True, kw_only=True):
    """Hold the fields of `job.json` that are read after the start: the attempt's tag and the time of the submit."""

    tag: str = ""
    submitted: Count | None = None


class State(Struct, frozen=True, kw_only=True):
    """Hold `state.json`, which the supervisor writes. Fields that default to None are set at the end of the job."""

    state: str
    reason: str
    host: str
    boot: str
    supervisor: Count
    supervisor_started: Count
    batch: Count
    started: Count
    status: Count | None = None
    signal: Count | None = None
    ended: Count | None = None


def read_state(folder: Path) -> State | None:
    """Return the state of the job in a folder, None if its record is missing or invalid."""
    return _read(folder / "state.json", State)


def read_job(folder: Path) -> Job | None:
    """Return the submission record of the job in a folder, None if it is missing or invalid."""
    return _read(folder / "job.json", Job)


def _read(path: Path, kind: type[T]) -> T | None:
    """Return a record, None if it is missing or invalid: any process may have written the file."""
    try:
        return convert(read_json(path), kind)
    except ValidationError:
        return None


def job_record(submission: Submission, script: str) -> dict[str, Any]:
    """Return the content of `job.json`. Raises RejectedError for an invalid directive."""
    try:
        first = components(script)[0].options
        limit = seconds(first.get("time", "UNLIMITED"))
        warning = _warning(first.get("signal", ""))
    except (ValueError, KeyError) as error:
        raise RejectedError(Diagnostic(code="E504", message=f"invalid #SBATCH line: {error}")) from None
    script_file, folder = submission.script.absolute(), submission.folder.absolute()
    return {
        "version": VERSION,
        "argv": ["bash", "-p", str(script_file), str(folder), str(submission.attempt), submission.tag],
        "name": first.get("job-name", submission.script.name),
        "directory": str(folder),
        "log": str(submission.log.absolute()),
        "limit": limit,
        "warning": warning,
        "tag": submission.tag,
        "submitted": int(time.time()),
    }


def _warning(text: str) -> tuple[int, int, bool] | None:
    """Parse `--signal=[B:]NAME[@SECONDS]` to: signal number, seconds, whether only the script gets the signal."""
    if not text:
        return None
    flags, _, rest = text.rpartition(":")
    name, _, before = rest.partition("@")
    number = int(name) if name.isdigit() else signal.Signals[f"SIG{name.upper().removeprefix('SIG')}"].value
    return number, int(before or WARNING_SECONDS), "B" in flags


def job_environment(
    caller: Mapping[str, str], script: str, job: Mapping[str, Any], job_id: str, folder: Path, programs: Path
) -> dict[str, str]:
    """Return the environment of a batch script. Source: sbatch(1), OUTPUT ENVIRONMENT VARIABLES.

    All components have the same job id: a local job has only one number.
    """
    parts = components(script)
    environment = scrubbed(caller) | {
        "PATH": f"{programs}:{caller.get('PATH', os.defpath)}",
        JOB_MARK: str(folder),
        "SLURM_CLUSTER_NAME": "local",
        "SLURM_JOB_ID": job_id,
        "SLURM_JOBID": job_id,
        "SLURM_JOB_NAME": job["name"],
        "SLURM_JOB_UID": str(os.getuid()),
        "SLURM_JOB_USER": _user_name(),
        "SLURM_SUBMIT_DIR": job["directory"],
        "SLURM_SUBMIT_HOST": "localhost",
        "SLURMD_NODENAME": "localhost",
        "SLURM_NODEID": "0",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_TASK_PID": "0",
    }
    if len(parts) == 1:
        return environment | _component(parts[0], "")
    environment |= _component(parts[0], "") | {"SLURM_HET_SIZE": str(len(parts))}
    for number, part in enumerate(parts):
        suffix = f"_HET_GROUP_{number}"
        environment |= _component(part, suffix) | {f"SLURM_JOB_ID{suffix}": job_id}
    return environment


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def called_environment(caller: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the environment for a call into a task from outside the job; `folder` is the job's."""
    path = f"{folder / 'bin'}:{caller.get('PATH', os.defpath)}"
    return scrubbed(caller) | {"PATH": path, JOB_MARK: str(folder)}


def _component(part: Component, suffix: str) -> dict[str, str]:
    """Return the variables of a component. It gets everything that it requests, and each node is this machine.

    The node list has an entry for each requested node, so that a script can place roles on them. The node count is
    1, the number of machines, so that per-node work happens once.
    """
    each, extra = divmod(part.tasks, part.nodes)
    counts = [f"{each + 1}(x{extra})"] * bool(extra) + [f"{each}(x{part.nodes - extra})"]
    values = {
        "SLURM_JOB_NODELIST": ",".join(["localhost"] * part.nodes),
        "SLURM_JOB_NUM_NODES": "1",
        "SLURM_TASKS_PER_NODE": ",".join(count.replace("(x1)", "") for count in counts),
        "SLURM_NTASKS": str(part.tasks),
        "SLURM_NPROCS": str(part.tasks),
        "SLURM_CPUS_PER_TASK": str(part.number("cpus-per-task", 1)),
        "SLURM_JOB_CPUS_PER_NODE": str(os.cpu_count() or 1),
        "SLURM_CPUS_ON_NODE": str(os.cpu_count() or 1),
    }
    values["SLURM_NODELIST"] = values["SLURM_JOB_NODELIST"]
    values["SLURM_NNODES"] = values["SLURM_JOB_NUM_NODES"]
    return {f"{name}{suffix}": value for name, value in values.items()}


def shut_down(folder: Path) -> None:
    """Let the supervisor end the job in this folder as at a shutdown of its node."""
    state = read_state(folder)
    if state is not None:
        os.kill(state.supervisor, signal.SIGTERM)


def lose_node(folder: Path) -> None:
    """KILL all processes of the job, first the supervisor, which would record another end."""
    state = read_state(folder)
    if state is not None:
        os.kill(state.supervisor, signal.SIGKILL)
    processes.kill_all(processes.ProcessFilter(folder))
