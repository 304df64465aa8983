"""Read what a batch script asks of Slurm: its `#SBATCH` lines, component by component."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from msgspec import Struct, field

from paislurm.translator.times import seconds_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

UNLIMITED = ("UNLIMITED", "INFINITE", "-1", "0")

SHORT = {"J": "job-name", "N": "nodes", "n": "ntasks", "c": "cpus-per-task", "t": "time"}
"""Source: sbatch(1), OPTIONS."""

_COUNT = re.compile(r"[0-9]{1,9}")


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
