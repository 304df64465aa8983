"""Read and change the `#SBATCH` lines of a batch script, component by component. Pure."""

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
_JOB_WIDE = ("time",)
"""Options that appear in the first component and apply to all. Source: observed on 22.05, 24.11 and 26.05."""


class Component(Struct, frozen=True):
    """Hold the options of one component; the value of an option without one is ""."""

    options: Mapping[str, str] = field(default_factory=dict)

    def number(self, name: str, default: int) -> int:
        """Return the value of a count option; for a range (`--nodes=2-4`), its lower end."""
        text = self.options.get(name, "").partition("-")[0]
        return int(text) if _COUNT.fullmatch(text) else default

    @property
    def nodes(self) -> int:
        """The number of nodes requested, 1 by default."""
        return self.number("nodes", 1)

    @property
    def tasks(self) -> int:
        """The number of tasks requested. Source: sbatch(1), --ntasks, --ntasks-per-node."""
        return self.number("ntasks", self.nodes * self.number("ntasks-per-node", 1))


def components(script: str) -> tuple[Component, ...]:
    """Return the components of a script: one, or several separated by `#SBATCH hetjob`.

    Source: sbatch(1): directives precede the first line that is neither blank nor a comment.
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
    """Split a line as a shell does, or at blanks if a quote is not closed: a bad line affects no other line."""
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def _options(words: list[str]) -> dict[str, str]:
    """Parse `--name=value`, `--name value`, `-n value`, `-nvalue` and bare names."""
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
    """Return a time limit in seconds, None for no limit. Raises ValueError for an invalid limit."""
    return None if limit.upper() in UNLIMITED else seconds_of(limit)


def with_options(script: str, options: Mapping[str, str]) -> str:
    """Return the script with these options set in every component.

    sbatch applies command-line options to the first component only. If the new limit is too short for a warning
    signal, which sbatch may send up to a minute early, the signal is removed. Values that are invalid in an
    `#SBATCH` line are skipped: recorded changes are not trusted.
    """
    options = {name: value for name, value in options.items() if _is_valid(name, value)}
    head, rest = _split(script)
    dropped = {*options, *(("signal",) if _is_short(options) else ())}
    new: list[str] = []
    for position, lines in enumerate(_lines_by_component(head)):
        kept = [line for line in lines if _name(line) not in dropped]
        last = max((number for number, line in enumerate(kept, 1) if line.startswith("#SBATCH")), default=len(kept))
        added = [
            f"#SBATCH --{name}={value}\n" for name, value in options.items() if not (position and name in _JOB_WIDE)
        ]
        new += [*kept[:last], *added, *kept[last:]]
    return "".join(new) + rest


def _split(script: str) -> tuple[list[str], str]:
    """Return the lines in which sbatch reads options, with their line ends, and the rest of the script.

    Source: sbatch(1): options precede the first line that is neither blank nor a comment.
    """
    lines = script.split("\n")
    end = next((number for number, line in enumerate(lines) if line.strip() and line[0] != "#"), len(lines))
    return [f"{line}\n" for line in lines[:end]], "\n".join(lines[end:])


def _lines_by_component(head: list[str]) -> list[list[str]]:
    """Return the lines of each component. The separator line belongs to the next component."""
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


def _is_valid(name: str, value: str) -> bool:
    try:
        return bool(value) and is_plain(value) and (name != "time" or seconds_of(value) > 0)
    except ValueError:
        return False
