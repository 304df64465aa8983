"""What the options of sbatch and the srun commands in a head may be: only names and values that the compiler writes."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

from ..lazy import regex
from ..protocol.extras_slurm import RESERVED
from ..sbatch_forms import is_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_NODELIST = regex(r'--nodelist="\$PSL_SCRATCH/hosts\.[0-9]+"')
_OPTION = regex(r"--([a-z-]+)(?:=('?)([^\s'\"]*)\2)?")
_NEW_LINE = " \\\n    "
"""Within a command: the backslash at the end of a line is no part of it."""
_START = regex(r'  (?:SLURM_HOSTFILE="\$PSL_SCRATCH/hosts\.([0-9]+)" )?exec srun ')
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


def srun_fault(text: str, role: str, name: str) -> tuple[int, str] | None:
    """Return what is wrong with the command that starts a role, and in which of its lines (from 0); None if nothing is.

    An MPI world over components has a part for each of them, with a colon between two. `name` is that of the role.
    """
    lines = text.removesuffix("\n").split(_NEW_LINE)
    start = _START.match(lines[0])
    if start is not None and start[1] not in (None, role):
        start = None
    if start is None or not text.endswith("\n") or any("\n" in line for line in lines):
        broken = next((number for number, line in enumerate(lines) if "\n" in line), 0)
        return broken if start else 0, f"expected the srun of task role {name}"
    words = [(number, word) for number, line in enumerate(lines) for word in line.split(" ")]
    words = words[lines[0][: start.end()].count(" ") :]
    task = _TASK.format(role=role).split(" ")[1:]
    part: list[tuple[int, str]] = []
    for number, word in [*words, (len(lines) - 1, ":")]:
        if word != ":":
            part.append((number, word))
        elif fault := _part_fault(part, number, task, name):
            return fault
        else:
            part = []
    return None


def _part_fault(words: Sequence[tuple[int, str]], last: int, task: Sequence[str], name: str) -> tuple[int, str] | None:
    """Return what is wrong with the part of one component, and in which line; it ends in line `last`."""
    options, tail = words[: -len(task)], words[-len(task) :]
    if not options or [word for _, word in tail] != list(task):
        fault = f"the srun of task role {name} starts something else than the tasks of the role"
        begin = next((at for at, (_, word) in enumerate(words) if not _is_option(word)), len(words))
        pairs = zip_longest(words[begin:], task, fillvalue=None)
        wrong = next((found for found, wanted in pairs if found is None or found[1] != wanted), None)
        return wrong[0] if wrong else last, fault
    names: set[str] = set()
    for line, word in options:
        option = word.partition("=")[0]
        if not _is_option(word):
            return line, f"srun has an option that the compiler does not write: {word}"
        if option in names:
            return line, "srun has a duplicate option"
        names.add(option)
    return None


def _is_option(word: str) -> bool:
    if _NODELIST.fullmatch(word):
        return True
    option = _OPTION.fullmatch(word)
    return option is not None and option[1] in _FORMS_OF_SRUN and _fits(_FORMS_OF_SRUN[option[1]], option[3])


def _fits(form: str | None, value: str | None) -> bool:
    if form is None or value is None:
        return form is value
    return is_plain(value) and re.fullmatch(form, value) is not None
