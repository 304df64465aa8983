"""Raw options of sbatch and srun in a job file: what is passed on, and why an option is refused.

getopt_long(3) completes abbreviated names, so that an abbreviation of a refused option is refused too.
Source: sbatch(1), srun(1).
"""

from __future__ import annotations

import re

from ..slurm_options import PASS_THROUGH, is_plain
from ..validation.strict_model import expected

_SIZE = "`resourcePerInstance` and the planner say what a task gets"
_STEP = "sbatch does not bind tasks: write it under `extras.slurm.srun`"
_JOB = "it asks for the allocation, not for a step: write it under `extras.slurm`, as a key or among `options`"
_PLACE = "the planner gives each task its node by a host file"
_LOGS = "a task's output goes to its own files, and a step's carries its reports"
_SHELL = "`exportEnv` under `extras.slurm` says which variables tasks get"
_CALL = "with it {program} would do something else than start the job"
_RETRIES = "the retry policy decides what is run again"
_CONTAINER = "the image and the site profile's `containers` say what tasks run in"

OWN_KEYS = ("time", *PASS_THROUGH)
"""Options of sbatch that are keys of `extras.slurm`."""
SBATCH = {
    **{name: f"write `{name}` under `extras.slurm` instead" for name in OWN_KEYS},
    "array": "an attempt is one Slurm job; `paislurm submit --sweep` makes several",
    "chdir": "`workdir` under `extras.slurm` says where commands start",
    "clusters": "`cluster` in the site profile names it",
    "comment": "the tag by which the job is found again stands there",
    "job-name": "it is the job's name",
    "signal": "the script is warned before the time limit",
    "time-min": "the script is told its time limit when it is compiled",
    **dict.fromkeys(("container", "container-id"), _CONTAINER),
    **dict.fromkeys(("cpu-bind", "gpu-bind", "gres-flags", "mem-bind", "tres-bind"), _STEP),
    **dict.fromkeys(("error", "input", "open-mode", "output"), _LOGS),
    **dict.fromkeys(("export", "export-file", "get-user-env"), _SHELL),
    **dict.fromkeys(("het-group", "hetjob"), "`layout` under `extras.slurm` decides on components"),
    **dict.fromkeys(("no-kill", "no-requeue", "requeue"), _RETRIES),
    **dict.fromkeys(("gid", "uid"), "only root can use it"),
    **dict.fromkeys(("distribution", "nodefile"), _PLACE),
    **dict.fromkeys(
        ("help", "hold", "ignore-pbs", "parsable", "quiet", "test-only", "usage", "verbose", "version", "wait", "wrap",
         "wait-all-nodes"),
        _CALL.format(program="sbatch"),
    ),
    **dict.fromkeys(
        ("cpus-per-gpu", "cpus-per-task", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "mem",
         "mem-per-cpu", "mem-per-gpu", "nodes", "ntasks", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-node",
         "ntasks-per-socket", "overcommit", "tres-per-job", "tres-per-node", "tres-per-socket", "tres-per-task"),
        _SIZE,
    ),
}  # fmt: skip
"""Options of sbatch that a job file cannot have among `options`, and why."""
SRUN = {
    "chdir": "`workdir` under `extras.slurm` says where commands start",
    "job-name": "it is the role's name, by which accounting finds the step",
    "mpi": "`mpi` under `extras.slurm` names the plugin",
    **dict.fromkeys(("bcast", "jobid", "multi-prog", "preserve-env", "pty", "task-epilog", "task-prolog"),
                    "the step runs the task's part of the script"),
    **dict.fromkeys(("het-group", "overlap", "exact", "exclusive", "external-launcher"),
                    "the layout decides what a step shares"),
    **dict.fromkeys(("distribution", "nodefile", "nodelist", "exclude", "relative", "spread-job", "use-min-nodes"),
                    _PLACE),
    **dict.fromkeys(("error", "input", "label", "open-mode", "output", "unbuffered"), _LOGS),
    **dict.fromkeys(("export", "export-file", "get-user-env"), _SHELL),
    **dict.fromkeys(("kill-on-bad-exit", "no-kill", "wait"), "the completion policy decides which tasks are stopped"),
    **dict.fromkeys(("help", "immediate", "quiet", "quit-on-interrupt", "test-only", "usage", "verbose", "version"),
                    _CALL.format(program="srun")),
    **dict.fromkeys(
        ("account", "begin", "clusters", "comment", "constraint", "contiguous", "deadline", "dependency", "hold",
         "licenses", "mail-type", "mail-user", "nice", "oversubscribe", "partition", "prefer", "priority", "qos",
         "reboot", "reservation", "signal", "switches", "time", "time-min", "wckey"),
        _JOB,
    ),
    **dict.fromkeys(("gid", "uid"), "only root can use it"),
    **dict.fromkeys(("container", "container-id", "container-image", "container-mounts", "container-name"), _CONTAINER),
    **dict.fromkeys(
        ("cpus-per-gpu", "cpus-per-task", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "mem",
         "mem-per-cpu", "mem-per-gpu", "nodes", "ntasks", "ntasks-per-gpu", "ntasks-per-node", "ntasks-per-tres",
         "overcommit", "tres-per-task"),
        _SIZE,
    ),
}  # fmt: skip
"""Options of srun that a job file cannot have among `srun`, and why."""


def sbatch_option(value: object) -> str:
    """Return a raw option of sbatch."""
    return _raw_option(value, "sbatch", SBATCH)


def srun_option(value: object) -> str:
    """Return a raw option of the srun that starts a role's tasks."""
    return _raw_option(value, "srun", SRUN)


def _raw_option(value: object, program: str, refused: dict[str, str]) -> str:
    name, equals, setting = str(value).partition("=")
    plain = is_plain(setting) and (setting or not equals)
    if not isinstance(value, str) or not re.fullmatch(r"--[a-z][a-z0-9-]*", name) or not plain:
        raise expected(
            f"an option of {program}, `--name` or `--name=value`, without blanks, quotes, backslashes or `#`"
        )
    name = name[2:]
    full = name if name in refused else min((option for option in refused if option.startswith(name)), default="")
    if full:
        hint = refused[full]
        if full != name:
            hint = f"{program} reads it as `--{full}`: {hint}"
        raise expected(f"an option of {program} that the job can choose", hint, 7)
    return value
