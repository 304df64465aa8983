"""What differs between two jobs, or between a job and a job file: parameters, plan and script. Pure."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ...rendering.runtime_bundle import SEAL
from ...terminal_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

DERIVED = frozenset(
    (
        "version",
        "paislurm_version",
        "diagnostics",
        "job_range",
        "item_lines",
        "command",
        "script",
        "variables",
        "of_job",
    )
)
"""Keys of a plan that say where something stands, or what the script's head has line by line."""
SCRIPT_CONTEXT = 3
"""Lines around a difference of heads, as `diff -u` has them."""


class Compared(Struct, frozen=True, kw_only=True):
    """Hold what is compared of a job; `parameters` are None where they were not kept."""

    name: str
    parameters: Mapping[str, str] | None
    plan: Mapping[str, Any]
    script: str


class Differences(Struct, frozen=True, kw_only=True):
    """Say what differs, each as `diff -u` has it, "" where nothing does; `runtime` are the versions of the runtime."""

    parameters: str
    plan: str
    script: str
    runtime: str

    @property
    def texts(self) -> tuple[str, ...]:
        """What differs, in the order in which people read it."""
        return tuple(filter(None, (self.parameters, self.plan, self.script, self.runtime)))


def differences(old: Compared, new: Compared) -> Differences:
    """Return what differs from the first to the second."""
    (old_head, old_seal), (new_head, new_seal) = parts(old.script), parts(new.script)

    def difference(what: str, before: Sequence[str], after: Sequence[str], context: int = 0) -> str:
        names = f"{old.name}: {what}", f"{new.name}: {what}"
        lines = difflib.unified_diff(before, after, names[0], names[1], lineterm="", n=context)
        return "".join(f"{line}\n" for line in lines if context or not line.startswith("@@"))

    known = old.parameters is not None and new.parameters is not None
    return Differences(
        parameters=difference("parameters", _pairs(old.parameters), _pairs(new.parameters)) if known else "",
        plan=difference("plan", [*plan_lines(old.plan)], [*plan_lines(new.plan)]),
        script=difference("head of the script", old_head.splitlines(), new_head.splitlines(), SCRIPT_CONTEXT),
        runtime=difference("runtime", [old_seal], [new_seal]),
    )


def parts(script: str) -> tuple[str, str]:
    """Return the head of a script, and in a line which runtime follows; "" where none does."""
    start = script.rfind(f"\n{SEAL}") + 1
    if not start:
        return script, ""
    return script[:start], script[start:].partition("\n")[0].strip("#- ")


def plan_lines(value: object, where: str = "") -> Iterator[str]:
    """Yield a plan as lines `roles.worker.resources.cpus: 4`, but for what is derived of them or the script's."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in DERIVED:
                yield from plan_lines(inner, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
        for number, each in enumerate(value):
            if isinstance(each, list) and len(each) == 2 and isinstance(each[0], str):
                yield from plan_lines(each[1], f"{where}.{each[0]}")
            else:
                name = each.get("name") if isinstance(each, dict) else None
                yield from plan_lines(each, f"{where}.{name or number}")
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield f"{one_line(where)}: {one_line(text)}"


def _pairs(parameters: Mapping[str, str] | None) -> list[str]:
    return [f"{one_line(name)}: {one_line(text)}" for name, text in sorted((parameters or {}).items())]
