"""What the options of sbatch and the srun commands in a head may be: only names and values that the compiler writes."""

from __future__ import annotations

import re

from ..protocol.extras_slurm import RESERVED
from ..sbatch_forms import is_plain

_NUMBER = "[0-9]+"
_MEMORY = "[0-9]+M"
_NO_FILE = r"[^/]+"
"""sbatch takes a list of nodes with a slash in it for the name of a file. Source: sbatch(1), --nodelist."""
_FORMS_OF_SBATCH: dict[str, str | None] = {
    "job-name": "[A-Za-z0-9._~-]+",
    "no-requeue": None,
    "time": "[0-9:-]+",
    "signal": "B:USR1@[0-9]+",
    "nice": "-?[0-9]+",
    "nodelist": _NO_FILE,
    "exclude": _NO_FILE,
    "hint": "nomultithread",
    **dict.fromkeys(("nodes", "ntasks", "ntasks-per-node", "cpus-per-task"), _NUMBER),
    **dict.fromkeys(("mem", "mem-per-cpu"), _MEMORY),
    **dict.fromkeys(
        ("partition", "account", "qos", "reservation", "constraint", "gres", "gpus-per-task", "network", "switches"),
        ".+",
    ),
}
OURS_OF_SBATCH = frozenset(_FORMS_OF_SBATCH)
"""The options that the compiler writes; any other one is the job's own, and a person's to read."""
_FORMS_OF_SRUN = {
    "het-group": _NUMBER,
    "job-name": "[A-Za-z0-9._~-]+",
    "ntasks": _NUMBER,
    "cpus-per-task": _NUMBER,
    "hint": "nomultithread",
    "gpus-per-task": _NUMBER,
    "gres": "[A-Za-z0-9_.:,@+-]+",
    "exact": None,
    "mem-per-cpu": _MEMORY,
    "mem": "[0-9]+M?",
    "mpi": "[a-z0-9_.]+",
    "export": "ALL",
    "kill-on-bad-exit": "0",
    "wait": "0",
    "distribution": "arbitrary",
    "input": "none|all",
}
"""The options of srun; a value may stand in quotes. --mpi names a file of a plugin, so that it has no slash."""
_NODELIST = re.compile(r'--nodelist="\$PSL_SCRATCH/hosts\.[0-9]+"')
_OPTION = re.compile(r"--([a-z-]+)(?:=('?)([^\s'\"]*)\2)?")
_HOST_FILE = 'SLURM_HOSTFILE="$PSL_SCRATCH/hosts.{role}" '
_START = "  exec srun "
_TASK = ' --chdir="$PSL_ATTEMPT_FOLDER" bash -p "$PSL_SCRIPT" --task "$PSL_FOLDER" "$PSL_ATTEMPT" {role}'


def directive_fault(name: str, value: str | None) -> str:
    """Return what is wrong with an option of sbatch, "" if nothing is."""
    if name not in OURS_OF_SBATCH:
        # sbatch takes the beginning of an option for the option.
        owned = sorted(option for option in RESERVED if option.startswith(name))
        return f"#SBATCH --{name} is not the job's to set" if owned else ""
    if not _fits(_FORMS_OF_SBATCH[name], value):
        return f"#SBATCH --{name} has a value that the compiler does not write"
    return ""


def srun_fault(text: str, role: str) -> str:
    """Return what is wrong with the body of the function that starts a role, "" if nothing is.

    An MPI world over components has a part for each of them, with a colon between two.
    """
    # A backslash at the end of a line is no part of the command.
    line = text.replace(" \\\n    ", " ")
    if line.startswith(host_file := "  " + _HOST_FILE.format(role=role)):
        line = f"  {line.removeprefix(host_file)}"
    if not line.startswith(_START) or not line.endswith("\n") or line.count("\n") > 1:
        return f"expected the srun of task role {role}"
    task = _TASK.format(role=role)
    for part in line[len(_START) : -1].split(" : "):
        if not part.endswith(task):
            return f"the srun of task role {role} starts something else than the tasks of the role"
        words = part.removesuffix(task).split(" ")
        if wrong := next((word for word in words if not _is_option(word)), None):
            return f"srun has an option that the compiler does not write: {wrong}"
        names = [word.partition("=")[0] for word in words]
        if len(names) > len(set(names)):
            return "srun has a duplicate option"
    return ""


def _is_option(word: str) -> bool:
    if _NODELIST.fullmatch(word):
        return True
    option = _OPTION.fullmatch(word)
    return option is not None and option[1] in _FORMS_OF_SRUN and _fits(_FORMS_OF_SRUN[option[1]], option[3])


def _fits(form: str | None, value: str | None) -> bool:
    if form is None or value is None:
        return form is value
    return is_plain(value) and re.fullmatch(form, value) is not None
