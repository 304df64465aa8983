"""The variables of Slurm that a batch script of the local backend sees."""

from __future__ import annotations

import os
import pwd
from typing import TYPE_CHECKING, Any

from ..batch_script import components
from ..environment import scrubbed
from ..slurm_emulator.processes import JOB_MARK

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ..batch_script import Component


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
