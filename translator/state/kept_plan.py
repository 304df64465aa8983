"""The plan of a job as its folder keeps it: `plan.json`, of which this is what commands read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from .safe_read import CorruptDataError, Int, read_end, read_json

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 64 << 20
"""A plan that is longer has been written by something else."""


class KeptPort(Struct, frozen=True):
    """A port that tasks of a role have, by its label."""

    label: str


class KeptHookScript(Struct, frozen=True):
    """A script that runs before the commands; `settings` are pairs of a name and a value."""

    program: str | None = None
    settings: tuple[tuple[str, Any], ...] = ()


class KeptHook(Struct, frozen=True):
    """What runs before the commands of a role."""

    script: KeptHookScript | None = None


class KeptCommand(Struct, frozen=True):
    """The commands of a role; `item_lines` are pairs of a line of the text (from 0) and its line in the job file."""

    text: str
    item_lines: tuple[tuple[Int, Int], ...] = ()


class KeptResources(Struct, frozen=True):
    """What a task has."""

    gpus: Int = 0


class KeptRole(Struct, frozen=True):
    """A task role; `slots` is how many of its tasks run at a time."""

    name: str
    slots: Int = 0
    component: Int | None = None
    workdir: str | None = None
    command: KeptCommand | None = None
    resources: KeptResources = KeptResources()
    ports: tuple[KeptPort, ...] = ()
    before: tuple[KeptHook, ...] = ()


class KeptComponent(Struct, frozen=True):
    """A component of the batch job; `directives` are pairs of an option of sbatch and its value."""

    directives: tuple[tuple[str, Any], ...] = ()


class KeptDiagnostic(Struct, frozen=True):
    """What the user was warned of when the job was compiled."""

    code: str
    message: str


class KeptLayout(Struct, frozen=True):
    """How roles share the job's nodes."""

    kind: str = ""


class KeptPlan(Struct, frozen=True):
    """The plan with which a job was submitted."""

    file: str = ""
    layout: KeptLayout = KeptLayout()
    roles: tuple[KeptRole, ...] = ()
    components: tuple[KeptComponent, ...] = ()
    diagnostics: tuple[KeptDiagnostic, ...] = ()
    one_log: bool = False

    @property
    def roles_by_name(self) -> dict[str, KeptRole]:
        """The roles by name."""
        return {role.name: role for role in self.roles}

    @property
    def directives(self) -> dict[str, str]:
        """The options of sbatch for the whole job: those of the first component that have a value."""
        pairs = self.components[0].directives if self.components else ()
        return {name: str(value) for name, value in pairs if value is not None}

    @property
    def gpu_count(self) -> int:
        """How many GPUs the tasks of a job have in all, those that run at a time."""
        return sum(role.resources.gpus * role.slots for role in self.roles)


def kept_plan(folder: Path) -> KeptPlan:
    """Return the plan with which a job was submitted; an empty one where it cannot be read."""
    try:
        data, whole = read_end(folder / "plan.json", MAX_BYTES)
        return read_json(data, KeptPlan) if whole else KeptPlan()
    except (OSError, CorruptDataError):
        return KeptPlan()
