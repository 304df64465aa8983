"""What is found in a head, and whether it is whole: nothing is there twice, and nothing is called that is not there."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..site.container_runtimes import CONTAINER_RUNTIMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..planning.settings.forms import Value

_USE_OF = {
    "HOOKS_BEFORE": "hooks",
    "HOOKS_AFTER": "hooks",
    "SECRET_NAMES": "secrets",
    "MPI_WORLD_OF": "native-mpi",
    "RANKS_OF": "native-mpi",
    "INFINIBAND_CHECKS": "infiniband",
    "STAGE_CODE": "code",
    "MAKE_OUTPUT": "code",
    "EXPORT_ENV": "export-env",
    "FETCHES_IMAGES": "registry",
    "MONITOR_AFTER": "monitor-step",
}
"""Which part of the runtime has what a setting makes the script call."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Name lines of a script (from 1) that no rule can judge, and what they are."""

    first: int
    last: int
    what: str


@dataclass(frozen=True, slots=True)
class Found:
    """Hold a setting (`value` is its own) or a function of a head, with the role it is of, "" for the job's."""

    line: int
    name: str
    role: str
    value: Value = ""


@dataclass(slots=True)
class Reading:
    """Hold what was found in a head: lines that do not belong there, by number, and passages for a person.

    `role_names` are by number.
    """

    diagnostics: list[tuple[int, str]] = field(default_factory=list)
    to_read: list[Passage] = field(default_factory=list)
    settings: list[Found] = field(default_factory=list)
    functions: list[Found] = field(default_factory=list)
    calls_environment_of_every_role: bool = False
    role_names: dict[str, str] = field(default_factory=dict)

    def role_name(self, role: str) -> str:
        """Return the name of the role of this number, the number itself where the head has not named it so far."""
        return self.role_names.get(role, role)

    def needed_uses(self) -> frozenset[str]:
        """Return the parts of the runtime that the settings need, beside those of every job."""
        needed = {_USE_OF[each.name] for each in self.settings if each.name in _USE_OF and each.value}
        needed |= {"slots" for each in self.settings if each.name == "GANG" and each.value == 0}
        return frozenset(
            needed | {CONTAINER_RUNTIMES[name].bash for name in self._runtimes() if name in CONTAINER_RUNTIMES}
        )

    def _runtimes(self) -> list[str]:
        return [str(each.value) for each in self.settings if each.name == "CONTAINER_RUNTIME"]


def missing_and_double(reading: Reading, last: int) -> Iterator[tuple[int, str]]:
    """Yield what is there twice, of a role that is not there, or missing: bash would look on the PATH for that.

    `last` is the line where the head ends.
    """
    found = list(_double(reading, last))
    yield from found
    # Where something else is wrong, what is missing is there, in a line that cannot be read.
    if not found and not reading.diagnostics:
        yield from _missing(reading, last)


def _double(reading: Reading, last: int) -> Iterator[tuple[int, str]]:
    roles = {each.role for each in reading.settings if each.name == "ROLE_NAME"}
    if roles != {str(number) for number in range(len(roles))} or not roles:
        yield last, "the task roles are not numbered from 0 on"
    known = {*roles, ""}
    for found in (reading.settings, reading.functions):
        times = Counter((each.name, each.role) for each in found)
        yield from ((each.line, f"duplicate {each.name}") for each in found if times[each.name, each.role] > 1)
        yield from ((each.line, f"there is no task role {each.role}") for each in found if each.role not in known)


def _missing(reading: Reading, last: int) -> Iterator[tuple[int, str]]:
    there = {(each.name, each.role) for each in reading.functions}
    for name, role in sorted(_called(reading) - there):
        yield last, f"there is no {name}" + (f" of task role {reading.role_name(role)}" if role else "")


def _called(reading: Reading) -> set[tuple[str, str]]:
    """Return the functions that the runtime calls, each with its role."""
    roles = {each.role for each in reading.settings if each.name == "ROLE_NAME"}
    mpi_worlds = {each.role: str(each.value).split(" ") for each in reading.settings if each.name == "MPI_WORLD_OF"}
    called = {("job_environment", "")}
    if reading.calls_environment_of_every_role:
        called.add(("environment_of_every_role", ""))
    for role in roles:
        called |= {("environment", role), ("commands", role)}
        # The first role of an MPI world starts all of it.
        called.add(("srun", mpi_worlds.get(role, [role])[0]))
    for each in reading.settings:
        if each.name in ("HOOKS_BEFORE", "HOOKS_AFTER"):
            steps = re.findall(r"(?:^| )([a-z]+)\.([0-9]+)\.", str(each.value))
            called |= {(f"{moment}_{number}", each.role) for moment, number in steps}
    return called
