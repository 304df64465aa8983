"""What a batch script asks of Slurm: its `#SBATCH` lines, component by component, read and changed. Pure."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from msgspec import Struct, field

from paislurm.translator.slurm_options import WARNED_FROM, is_plain
from paislurm.translator.times import seconds_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

UNLIMITED = ("UNLIMITED", "INFINITE", "-1", "0")

SHORT = {"J": "job-name", "N": "nodes", "n": "ntasks", "c": "cpus-per-task", "t": "time"}
"""Source: sbatch(1), OPTIONS."""

_COUNT = re.compile(r"[0-9]{1,9}")
_OPTION = re.compile(r"#SBATCH --([a-z][a-z0-9-]*)(?:[= ].*)?")
_OF_THE_JOB = ("time",)
"""Options that stand in the first component and hold for all. Source: observed on 22.05, 24.11 and 26.05."""


class Component(Struct, frozen=True):
    """Hold the options of one component; an option without a value has "" for one."""

    options: Mapping[str, str] = field(default_factory=dict)

    def number(self, name: str, default: int) -> int:
        """Return an option that is a count; of a range (`--nodes=2-4`) the lower end."""
        text = self.options.get(name, "").partition("-")[0]
        return int(text) if _COUNT.fullmatch(text) else default

    @property
    def nodes(self) -> int:
        """The nodes asked for, 1 by default."""
        return self.number("nodes", 1)

    @property
    def tasks(self) -> int:
        """The tasks asked for. Source: sbatch(1), --ntasks, --ntasks-per-node."""
        return self.number("ntasks", self.nodes * self.number("ntasks-per-node", 1))


def components(script: str) -> tuple[Component, ...]:
    """Return the components of a script; without `#SBATCH hetjob` there is one.

    Source: sbatch(1): directives stand before the first line that is neither blank nor a comment.
    """
    found: list[dict[str, str]] = [{}]
    for words in _directives(script):
        if words == ["hetjob"]:
            found.append({})
        else:
            found[-1] |= _options(words)
    return tuple(Component(options) for options in found)


def _directives(script: str) -> Iterator[list[str]]:
    for line in script.splitlines():
        if line.startswith("#SBATCH"):
            yield _words(line.removeprefix("#SBATCH"))
        elif line.strip() and not line.startswith("#"):
            return


def _words(text: str) -> list[str]:
    """Split as a shell does; where quotes are not closed, at blanks: one line harms no other."""
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def _options(words: list[str]) -> dict[str, str]:
    """Read `--name=value`, `--name value`, `-n value`, `-nvalue` and bare names."""
    found: dict[str, str] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, _, found[name] = word[2:].partition("=")
        elif word.startswith("-"):
            name = SHORT.get(word[1], word[1])
            found[name] = word[2:]
        else:
            found[name] = word
    return found


def seconds(limit: str) -> int | None:
    """Return a time limit in seconds, None for no limit; ValueError when it is none."""
    return None if limit.upper() in UNLIMITED else seconds_of(limit)


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
    for position, lines in enumerate(_lines_by_component(head)):
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


def _lines_by_component(head: list[str]) -> list[list[str]]:
    """Return the lines of each component; the line that ends one begins the next."""
    found: list[list[str]] = [[]]
    for line in head:
        if line.rstrip() == "#SBATCH hetjob":
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
