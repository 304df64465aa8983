"""Raw options of sbatch and srun in a job file: which options are refused, and why.

getopt_long(3) completes abbreviated names, so an abbreviation of a refused option is refused too.
Source: sbatch(1), srun(1).
"""

from __future__ import annotations

import re

from ..slurm_options import PASS_THROUGH, is_plain
from ..validation.strict_model import expected

_SIZE = "`resourcePerInstance` and the planner set the resources of a task"
_STEP = "write it under `extras.slurm.binding` or `extras.slurm.srun`: it concerns tasks, not the allocation"
_ONLY_SRUN = "write it under `extras.slurm.srun`: sbatch has no such option"
_JOB = "write it under `extras.slurm`, as a key or in `options`: it concerns the allocation, not a step"
_PLACE = "the planner places each task with a host file"
_LOGS = "each task writes to its own files, and the output of a step carries reports"
_SHELL = "`exportEnv` under `extras.slurm` selects the variables of tasks"
_CALL = "with it, {program} would not start the job as planned"
_RETRIES = "the retry policy controls retries"
_CONTAINER = "the image and the site profile's `containers` set the container"

OWN_KEYS = ("time", *PASS_THROUGH)
"""Options of sbatch that are keys of `extras.slurm`."""
SBATCH = {
    **{name: f"write `{name}` under `extras.slurm` instead" for name in OWN_KEYS},
    "array": "an attempt is one Slurm job; use `paislurm submit --sweep` for several jobs",
    "chdir": "`workdir` under `extras.slurm` sets the working directory",
    "clusters": "`cluster` in the site profile sets it",
    "comment": "it contains the tag of the job",
    "job-name": "it is the job's name",
    "signal": "the script uses it for the warning before the time limit",
    "time-min": "the script needs a fixed time limit",
    **dict.fromkeys(("container", "container-id"), _CONTAINER),
    **dict.fromkeys(("accel-bind", "cpu-bind", "gpu-bind", "mem-bind", "tres-bind"), _STEP),
    **dict.fromkeys(("async", "bcast-exclude", "compress", "disable-status", "send-libs", "threads"),
                    _ONLY_SRUN),
    **dict.fromkeys(("error", "input", "open-mode", "output"), _LOGS),
    **dict.fromkeys(("export", "export-file", "get-user-env"), _SHELL),
    **dict.fromkeys(("het-group", "hetjob"), "`layout` under `extras.slurm` sets the components"),
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
"""Options of sbatch that job files cannot set, and why."""
SRUN = {
    "chdir": "`workdir` under `extras.slurm` sets the working directory",
    "job-name": "it is the role's name, which identifies the step in accounting",
    "mpi": "`mpi` under `extras.slurm` sets the plugin",
    **dict.fromkeys(("bcast", "epilog", "interactive", "jobid", "multi-prog", "no-allocate", "preserve-env", "prolog",
                     "pty", "slurmd-debug", "task-epilog", "task-prolog", "debugger-test"),
                    "the script starts the step"),
    **dict.fromkeys(("het-group", "pack-group", "overlap", "exact", "exclusive", "external-launcher", "whole"),
                    "the layout sets the resources that steps share"),
    **dict.fromkeys(("distribution", "nodefile", "nodelist", "exclude", "relative", "spread-job", "use-min-nodes"),
                    _PLACE),
    **dict.fromkeys(("error", "input", "label", "open-mode", "output", "unbuffered"), _LOGS),
    **dict.fromkeys(("export", "export-file", "get-user-env"), _SHELL),
    **dict.fromkeys(("kill-on-bad-exit", "no-kill", "wait"), "the completion policy stops tasks"),
    **dict.fromkeys(("help", "immediate", "parsable", "quiet", "quit-on-interrupt", "test-only", "usage", "verbose",
                     "version"),
                    _CALL.format(program="srun")),
    **dict.fromkeys(
        ("account", "bb", "bbf", "begin", "cluster-constraint", "clusters", "comment", "constraint", "contiguous",
         "core-spec", "deadline", "delay-boot", "dependency", "hold", "licenses", "mail-type", "mail-user", "mcs-label",
         "mincpus", "nice", "oversubscribe", "partition", "power", "prefer", "priority", "qos", "reboot", "reservation",
         "signal", "switches", "thread-spec", "time", "time-min", "tmp", "wckey"),
        _JOB,
    ),
    **dict.fromkeys(("gid", "uid"), "only root can use it"),
    **dict.fromkeys(("container", "container-id"), _CONTAINER),
    **dict.fromkeys(
        ("cpus-per-gpu", "cpus-per-task", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "mem",
         "mem-per-cpu", "mem-per-gpu", "nodes", "ntasks", "ntasks-per-gpu", "ntasks-per-node", "ntasks-per-tres",
         "overcommit", "tres-per-job", "tres-per-node", "tres-per-socket", "tres-per-task"),
        _SIZE,
    ),
}  # fmt: skip
"""Options of srun that job files cannot set, and why."""
SBATCH_LACKS = (
    "bcast", "debugger-test", "epilog", "exact", "external-launcher", "immediate", "interactive", "jobid",
    "kill-on-bad-exit", "label", "mpi", "multi-prog", "no-allocate", "overlap", "pack-group", "preserve-env", "prolog",
    "pty", "quit-on-interrupt", "relative", "slurmd-debug", "task-epilog", "task-prolog", "unbuffered", "whole",
)  # fmt: skip
SRUN_LACKS = ("array", "batch", "ignore-pbs", "no-requeue", "requeue", "wait-all-nodes", "wrap")
SBATCH.update({name: f"sbatch has no such option; in srun, {SRUN[name]}" for name in SBATCH_LACKS})
SRUN.update({name: f"srun has no such option; in sbatch, {SBATCH.get(name, _JOB)}" for name in SRUN_LACKS})
_OF_CONTAINER = re.compile(r"(?:no-)?container-.+")
"""Options of the SPANK plugin pyxis. Source: pyxis, README."""
_SHORT = {
    "A": "account", "B": "extra-node-info", "C": "constraint", "D": "chdir", "E": "preserve-env", "F": "nodefile",
    "G": "gpus", "H": "hold", "I": "immediate", "J": "job-name", "K": "kill-on-bad-exit", "L": "licenses",
    "M": "clusters", "N": "nodes", "O": "overcommit", "Q": "quiet", "S": "core-spec", "T": "threads", "V": "version",
    "W": "wait", "X": "disable-status", "Z": "no-allocate", "a": "array", "b": "begin", "c": "cpus-per-task",
    "d": "dependency", "e": "error", "h": "help", "i": "input", "k": "no-kill", "l": "label", "m": "distribution",
    "n": "ntasks", "o": "output", "p": "partition", "q": "qos", "r": "relative", "s": "oversubscribe", "t": "time",
    "u": "unbuffered", "v": "verbose", "w": "nodelist", "x": "exclude",
}  # fmt: skip
"""Short forms of options, which sbatch and srun have alike. Source: sbatch(1), srun(1)."""


def sbatch_option(value: object) -> str:
    """Return a raw option of sbatch."""
    option = _raw_option(value, "sbatch", SBATCH)
    if option.startswith("--gres-f") and "allow-task-sharing" in option:
        hint = "write it under `extras.slurm.srun`: only srun has `allow-task-sharing`"
        raise expected("an option of sbatch that the job can choose", hint, 7)
    return option


def srun_option(value: object) -> str:
    """Return a raw option of the srun that starts a role's tasks."""
    return _raw_option(value, "srun", SRUN)


def _raw_option(value: object, program: str, refused: dict[str, str]) -> str:
    name, equals, setting = str(value).partition("=")
    plain = is_plain(setting) and (setting or not equals)
    if not isinstance(value, str) or not re.fullmatch(r"--[a-z][a-z0-9-]*", name) or not plain:
        hint = _long_form(value, program, refused) if isinstance(value, str) else ""
        raise expected(
            f"an option of {program}, `--name` or `--name=value`, without blanks, quotes, backslashes or `#`", hint
        )
    name = name[2:]
    full = name if name in refused else min((option for option in refused if option.startswith(name)), default="")
    if not full and _OF_CONTAINER.fullmatch(name):
        raise expected(f"an option of {program} that the job can choose", _CONTAINER, 7)
    if full:
        hint = refused[full]
        if full != name:
            hint = f"{program} reads it as `--{full}`: {hint}"
        raise expected(f"an option of {program} that the job can choose", hint, 7)
    return value


def _long_form(value: str, program: str, refused: dict[str, str]) -> str:
    """Return the hint for a short form such as `-N4`, or for a name with underscores; "" for other texts."""
    short = re.match(r"-([A-Za-z])", value)
    under = re.match(r"--([a-z]+(?:[_-][a-z]+)+)(?==|$)", value)
    full = _SHORT.get(short[1], "") if short else under[1].replace("_", "-") if under else ""
    if not full:
        return ""
    return f"{program} reads it as `--{full}`: {refused[full]}" if full in refused else f"write `--{full}`"
