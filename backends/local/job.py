"""What a job of the local backend is made of: its two records, how its script is started, and the variables it sees."""

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
from ..slurm_emulator.processes import JOB_MARK
from ..slurm_emulator.records import VERSION, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ..base import Submission
    from ..batch_script import Component

WARNING_SECONDS = 60
"""How long before the time limit a signal comes that names no time. Source: sbatch(1), --signal."""

T = TypeVar("T")
Count = Annotated[int, Meta(ge=0, le=1 << 53)]


class Job(Struct, frozen=True, kw_only=True):
    """Hold what is needed of `job.json` after the start: the tag of the attempt, and when it was submitted."""

    tag: str = ""
    submitted: Count | None = None


class State(Struct, frozen=True, kw_only=True):
    """Hold `state.json`, how a job stands, which the supervisor writes; what is None comes with the end."""

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
    """Return how the job of a folder stands, None where no record says that."""
    return _read(folder / "state.json", State)


def read_job(folder: Path) -> Job | None:
    """Return what the job of a folder is, None where no record says that."""
    return _read(folder / "job.json", Job)


def _read(path: Path, kind: type[T]) -> T | None:
    """Return a record, None where there is none of that kind: anybody may have written something there."""
    try:
        return convert(read_json(path), kind)
    except ValidationError:
        return None


def job_record(submission: Submission, script: str) -> dict[str, Any]:
    """Return `job.json`; RejectedError when a directive makes no sense."""
    try:
        first = components(script)[0].options
        limit = seconds(first.get("time", "UNLIMITED"))
        warning = _warning(first.get("signal", ""))
    except (ValueError, KeyError) as diagnostic:
        raise RejectedError(Diagnostic(code="E504", message=f"a #SBATCH line cannot be read: {diagnostic}")) from None
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
    """Read `--signal=[B:]NAME[@SECONDS]`: signal number, seconds, whether the script alone gets it."""
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

    All components carry the job's own id: one number names a local job.
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
    """Return the environment of who calls a task of a job from outside; `folder` is the job's."""
    path = f"{folder / 'bin'}:{caller.get('PATH', os.defpath)}"
    return scrubbed(caller) | {"PATH": path, JOB_MARK: str(folder)}


def _component(part: Component, suffix: str) -> dict[str, str]:
    """Return what a component was given: everything it asked for, each of its nodes this machine.

    The node list has an entry for each node asked for, so that a script can place roles on them; the count of
    nodes is that of machines, 1, so that what is done once a node is done once.
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
