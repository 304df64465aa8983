"""Differences of two jobs, or of a job and a job file, in parameters, plan and script. Pure."""

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
"""Keys of a plan with locations, or with contents of the script's head."""
SCRIPT_CONTEXT = 3
"""Context lines of a difference of heads, as in `diff -u`."""


class Compared(Struct, frozen=True, kw_only=True):
    """The compared data of a job; `parameters` are None if not recorded."""

    name: str
    parameters: Mapping[str, str] | None
    plan: Mapping[str, Any]
    script: str


class Differences(Struct, frozen=True, kw_only=True):
    """The differences of two jobs."""

    compared: tuple[str, ...]
    """The names of the compared jobs, or of the job file."""
    same: bool
    """Whether nothing differs."""
    parameter_difference: str | None
    """Differences of parameters in the format of `diff -u`; None without any, or if they were not recorded."""
    plan_difference: str | None
    """Differences of the plan, a line for each value."""
    script_difference: str | None
    """Differences of the scripts' heads, in the format of `diff -u`."""
    runtime_difference: str | None
    """The runtimes of the scripts, if they differ."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The differences, in the order of output."""
        found = self.parameter_difference, self.plan_difference, self.script_difference, self.runtime_difference
        return tuple(each for each in found if each)


def differences(old: Compared, new: Compared) -> Differences:
    """Return the differences of two jobs."""
    (old_head, old_seal), (new_head, new_seal) = parts(old.script), parts(new.script)

    def difference(what: str, before: Sequence[str], after: Sequence[str], context: int = 0) -> str:
        names = f"{old.name}: {what}", f"{new.name}: {what}"
        lines = difflib.unified_diff(before, after, names[0], names[1], lineterm="", n=context)
        return "".join(f"{line}\n" for line in lines if context or not line.startswith("@@"))

    known = old.parameters is not None and new.parameters is not None
    found = {
        "parameter_difference": difference("parameters", _pairs(old.parameters), _pairs(new.parameters)) * known,
        "plan_difference": difference("plan", [*plan_lines(old.plan)], [*plan_lines(new.plan)]),
        "script_difference": difference(
            "head of the script", old_head.splitlines(), new_head.splitlines(), SCRIPT_CONTEXT
        ),
        "runtime_difference": difference("runtime", [old_seal], [new_seal]),
    }
    texts = {name: text or None for name, text in found.items()}
    return Differences(compared=(old.name, new.name), same=not any(texts.values()), **texts)


def parts(script: str) -> tuple[str, str]:
    """Return the head of a script, and the name of its runtime, "" without one."""
    start = script.rfind(f"\n{SEAL}") + 1
    if not start:
        return script, ""
    return script[:start], script[start:].partition("\n")[0].strip("#- ")


def plan_lines(value: object, where: str = "") -> Iterator[str]:
    """Yield a plan as lines `roles.worker.resources.cpus: 4`, without derived values and contents of the script."""
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
        text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
        yield f"{one_line(where)}: {one_line(text)}"


def _pairs(parameters: Mapping[str, str] | None) -> list[str]:
    return [f"{one_line(name)}: {one_line(text)}" for name, text in sorted((parameters or {}).items())]
