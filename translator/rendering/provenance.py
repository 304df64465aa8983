"""The origins of the lines of a script: lines of the job file, and rules. Pure.

The table of fields, options and variables is `provenance.yaml`, with the rows of `slurm_options.py` for what is
passed on to sbatch; behind the seal every script is the same and nothing is explained.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..shipped import shipped_table
from ..slurm_options import PASS_THROUGH
from .lines import Line
from .render import render_head

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..planning.job_plan import Plan, RolePlan
    from ..reading.document import Document, Path


class Origin(Struct, frozen=True, kw_only=True):
    """The origin of a line of a script."""

    line: int
    """The line of the script, from 1."""
    text: str
    """Its text."""
    job_lines: tuple[int, ...]
    """Its lines of the job file, from 1."""
    rule: str | None
    """The rule that produced it; None for an unchanged value of the job file."""


@cache
def table() -> Mapping[str, Any]:
    """Return the whole table: `provenance.yaml`, and the options that `extras.slurm` passes on."""
    rows: dict[str, Any] = shipped_table("translator/rendering/provenance.yaml")
    for row in PASS_THROUGH.values():
        rows["fields"][row.name] = {"v2": f"extras.slurm.{row.name}", "of-roles": True}
        rows["options"][row.name] = {"from": [row.name, *row.profile_fields], "rule": row.rule}
    return rows


def origins(plan: Plan, document: Document) -> list[Origin]:
    """Return the origin of each line of a job's script that is not the same in every script, in order."""
    marks: list[Line] = []
    head = render_head(plan, marks=marks)
    explain = _Explainer(plan, document)
    found = []
    for number, text in enumerate(head.split("\n"), start=1):
        if text == "#SBATCH hetjob":
            found.append(Origin(line=number, text=text, job_lines=(), rule=table()["lines"]["hetjob"]["rule"]))
        elif text.startswith("\0"):
            _, mark, line = text.split("\0")
            found.append(explain.origin(number, line, marks[int(mark)]))
    return [origin for origin in found if not origin.text.startswith("# ")]


def field_source(plan: Plan, document: Document, name: str, *roles: RolePlan) -> str:
    """Return the key of a field of `provenance.yaml` in the job file and its line: `minFailedInstances, line 12`."""
    explain = _Explainer(plan, document)
    paths = list(explain.paths(table()["fields"][name], list(roles)))
    given = next((path for path in paths if path in document.spans), None)
    if given is None:
        return f"{paths[0][-1]}, default" if paths else "default"
    return f"{given[-1]}, line {document.spans[given].key_line}"


class _Explainer:
    """Find the origins of a script's lines in its job file."""

    def __init__(self, plan: Plan, document: Document) -> None:
        self._plan = plan
        self._document = document
        self._positions = {role.name: role.position for role in plan.roles}

    def origin(self, number: int, text: str, line: Line) -> Origin:
        """Return the origin of a line of the script, whose number and text are these."""
        fields, rule, job_lines = line.fields, line.rule, set(line.job_lines)
        if line.entry:
            entry = _entry(*line.entry)
            fields, rule = tuple(entry.get("from", ())), entry.get("rule", "")
        rules = []
        roles = [self._plan.roles[role] for role in line.roles or self._named(line)]
        for name in fields:
            field = table()["fields"][name]
            spans = list(self._spans(field, roles))
            job_lines.update(number for span in spans for number in range(*span))
            given = [self._document.given[path] for path in self.paths(field, roles) if path in self._document.given]
            rules += [f"{option} of the command line" for option in dict.fromkeys(given)]
            if not spans and not given and (default := self._default(name)):
                rules.append(f"default {default}")
        rules += [rule] if rule else []
        return Origin(
            line=number, text=text, job_lines=tuple(sorted(job_lines)), rule="; ".join(dict.fromkeys(rules)) or None
        )

    def _named(self, line: Line) -> list[int]:
        """Return the roles whose name ends the variable's name."""
        part, name = line.entry or ("", "")
        ends = (name[mark.end() :] for mark in re.finditer("_", name) if part == "exports")
        return [self._positions[end] for end in ends if end in self._positions]

    def _default(self, name: str) -> str:
        field = table()["fields"][name]
        default: str = field.get(f"default-v{self._plan.protocol}", field.get("default", ""))
        return default

    def _spans(self, field: Mapping[str, Any], roles: list[RolePlan]) -> Iterator[tuple[int, int]]:
        """Yield the line ranges of a field in the job file: the first line, and the one after the last."""
        for path in self.paths(field, roles):
            if span := self._document.spans.get(path):
                last = span.key_line if field.get("key") else max(span.key_line, span.last_line)
                yield span.key_line, last + 1

    def paths(self, field: Mapping[str, Any], roles: list[RolePlan]) -> Iterator[Path]:
        """Yield the paths under which a job file may have a field, those of each of these roles among them."""
        of_both = str(field.get("v2", "")).startswith("extras.slurm.")
        path: str | list[str] | None = field.get(f"v{self._plan.protocol}", field["v2"] if of_both else None)
        if path is None:
            return
        steps = path.split(".") if isinstance(path, str) else path
        keys = [role.name if self._plan.protocol == "2" or of_both else role.position for role in roles]
        if "ROLE" not in steps:
            yield tuple(steps)
        for key in keys:
            if "ROLE" in steps:
                yield tuple(key if step == "ROLE" else step for step in steps)
            if field.get("of-roles"):
                yield (*steps[:-1], "taskRoles", key, steps[-1])


def _entry(part: str, name: str) -> Mapping[str, Any]:
    """Return the row of an option, a variable or a kind of line; a name that ends in `_` is a prefix."""
    rows = table()[part]
    found = [key for key in rows if name == key or (key.endswith("_") and name.startswith(key))]
    entry: Mapping[str, Any] = rows[max(found, key=len)] if found else rows["*"]
    return entry
