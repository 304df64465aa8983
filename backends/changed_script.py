"""The script of an attempt whose job was changed: the same, with other options of sbatch in its head. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from paislurm.translator.slurm_options import WARNED_FROM, is_plain
from paislurm.translator.times import seconds_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPTION = re.compile(r"#SBATCH --([a-z][a-z0-9-]*)(?:[= ].*)?")
_NEXT = "#SBATCH hetjob"
_OF_THE_JOB = ("time",)
"""Options that stand in the first component and hold for all. Source: observed on 22.05, 24.11 and 26.05."""


def with_options(script: str, options: Mapping[str, str]) -> str:
    """Return a script that asks Slurm for other options; of those of a component, each one has them.

    On the command line of sbatch, options would be those of the first component alone. Where the limit is too short for
    a warning before it, which sbatch sends up to a minute early, there is none. A value that cannot stand in an
    `#SBATCH` line is left out: what was kept of a change can be anything.
    """
    options = {name: value for name, value in options.items() if _fits(name, value)}
    head, rest = _split(script)
    dropped = {*options, *(("signal",) if _is_short(options) else ())}
    new: list[str] = []
    for position, lines in enumerate(_components(head)):
        kept = [line for line in lines if _name(line) not in dropped]
        last = max((number for number, line in enumerate(kept, 1) if line.startswith("#SBATCH")), default=len(kept))
        added = [
            f"#SBATCH --{name}={value}\n" for name, value in options.items() if not (position and name in _OF_THE_JOB)
        ]
        new += [*kept[:last], *added, *kept[last:]]
    return "".join(new) + rest


def _split(script: str) -> tuple[list[str], str]:
    """Return the lines in which sbatch looks for options, each with its end, and what follows them.

    Source: sbatch(1): options stand before the first line that is neither blank nor a comment.
    """
    lines = script.split("\n")
    end = next((number for number, line in enumerate(lines) if line.strip() and line[0] != "#"), len(lines))
    return [f"{line}\n" for line in lines[:end]], "\n".join(lines[end:])


def _components(head: list[str]) -> list[list[str]]:
    """Return the lines of each component; the line that ends one begins the next."""
    found: list[list[str]] = [[]]
    for line in head:
        if line.rstrip() == _NEXT:
            found.append([])
        found[-1].append(line)
    return found


def _name(line: str) -> str:
    match = _OPTION.fullmatch(line.rstrip("\n"))
    return match[1] if match else ""


def _is_short(options: Mapping[str, str]) -> bool:
    return "time" in options and seconds_of(options["time"]) <= WARNED_FROM.total_seconds()


def _fits(name: str, value: str) -> bool:
    try:
        return bool(value) and is_plain(value) and (name != "time" or seconds_of(value) > 0)
    except ValueError:
        return False
