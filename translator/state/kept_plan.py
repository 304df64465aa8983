"""The fields of a job's `plan.json` that commands read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from ..files.names import PLAN
from ..files.reading import read_end
from .parsed import CorruptDataError, Int, read_json

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MAX_BYTES = 64 << 20
"""Limit in bytes: paislurm writes no longer plan."""


class KeptPort(Struct, frozen=True):
    """A port of a role's tasks, by its label."""

    label: str


class KeptHookScript(Struct, frozen=True):
    """A script that runs before the commands; `settings` are pairs of a name and a value."""

    program: str | None = None
    settings: tuple[tuple[str, Any], ...] = ()


class KeptHook(Struct, frozen=True):
    """A hook that runs before the commands of a role."""

    script: KeptHookScript | None = None


class KeptCommand(Struct, frozen=True):
    """The commands of a role; `item_lines` are pairs of a line in `text` (from 0) and its line in the job file."""

    text: str
    item_lines: tuple[tuple[Int, Int], ...] = ()


class KeptResources(Struct, frozen=True):
    """The resources of one task; memory in MiB, 0 if the job does not state it."""

    cpus: Int = 0
    memory_mib: Int = 0
    gpus: Int = 0


class KeptRole(Struct, frozen=True):
    """A task role; `slots` is the number of its tasks that run at a time."""

    name: str
    slots: Int = 0
    component: Int | None = None
    workdir: str | None = None
    command: KeptCommand | None = None
    resources: KeptResources = KeptResources()
    ports: tuple[KeptPort, ...] = ()
    before: tuple[KeptHook, ...] = ()


class KeptComponent(Struct, frozen=True):
    """A component of the batch job; `directives` are pairs of an sbatch option and its value."""

    directives: tuple[tuple[str, Any], ...] = ()


class KeptDiagnostic(Struct, frozen=True):
    """A warning from the compilation of the job."""

    code: str
    message: str


class KeptLayout(Struct, frozen=True):
    kind: str = ""


class KeptPlan(Struct, frozen=True):
    """The plan of a submitted job."""

    file: str = ""
    layout: KeptLayout = KeptLayout()
    roles: tuple[KeptRole, ...] = ()
    components: tuple[KeptComponent, ...] = ()
    diagnostics: tuple[KeptDiagnostic, ...] = ()
    one_log: bool = False
    requeues: bool = False
    whole_nodes: bool = False

    @property
    def roles_by_name(self) -> dict[str, KeptRole]:
        return {role.name: role for role in self.roles}

    @property
    def directives(self) -> dict[str, str]:
        """The sbatch options for the whole job: those of the first component that have a value."""
        pairs = self.components[0].directives if self.components else ()
        return {name: str(value) for name, value in pairs if value is not None}

    @property
    def gpu_count(self) -> int:
        """The number of GPUs of all tasks that run at the same time."""
        return amount(self.roles, "gpus")


def amount(roles: Iterable[KeptRole], unit: Literal["cpus", "gpus"]) -> int:
    """Return the CPUs or GPUs of the tasks of some roles that run at the same time."""
    return sum(getattr(role.resources, unit) * role.slots for role in roles)


def kept_plan(folder: Path) -> KeptPlan:
    """Return the plan of a submitted job, an empty one if it cannot be read."""
    try:
        data, whole = read_end(folder / PLAN, MAX_BYTES)
        return read_json(data, KeptPlan) if whole else KeptPlan()
    except (OSError, CorruptDataError):
        return KeptPlan()
