"""Which lines of a job file, and which rules, the lines of its script come from. Pure.

The table of fields, options and variables is `origins.yaml`; from "What the script knows" on, every script is the
same and nothing is explained.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..planning.plan import Plan, RolePlan, Step
    from ..protocol.document import Document, Path

_DIRECTIVE = re.compile(r"#SBATCH (?:--([a-z-]+)|(hetjob))")
_VARIABLE = re.compile(r"([A-Z_]+)(?:\[(\d+)\])?=")
_EXPORT = re.compile(r"\s*export ([A-Za-z_]\w*)=")
_ROLE_FUNCTION = re.compile(r"(environment|commands|(?:start|success|exit)_\d+)_of_role_(\d+)\(\) \{")
_DOCUMENT = re.compile(r"\s*emit <<'(\w+)'")
_PARAMETER = re.compile(r"<%\s*\$parameters\.((?:(?!\s*%>)[^.\[])+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Say of one line of a script (from 1) which lines of the job file (from 1) it comes from, and by which rule.

    `rule` is "" where the value of the job file stands in the script as it is.
    """

    line: int
    text: str
    job_lines: tuple[int, ...]
    rule: str


@cache
def _table() -> Mapping[str, Any]:
    text = (files("paislurm") / "translator" / "rendering" / "origins.yaml").read_text(encoding="utf-8")
    table: Mapping[str, Any] = yaml.safe_load(text)
    return table


def origins(plan: Plan, script: str, document: Document) -> list[Origin]:
    """Return the origin of each line of a script that is not the same in every script, in order."""
    return list(_Reader(plan, document).read(script))


class _Reader:
    """Walk down a script as bash reads it; what stands in a here-document is never taken for the script's own."""

    def __init__(self, plan: Plan, document: Document) -> None:
        self._plan = plan
        self._document = document
        self._component = 0

    def read(self, script: str) -> Iterator[Origin]:
        """Yield the origins of the lines up to the static runtime."""
        lines = enumerate(script.split("\n"), start=1)
        role: RolePlan | None = None
        part = ""
        for number, text in lines:
            if directive := _DIRECTIVE.match(text):
                yield self._directive(number, text, directive)
            elif function := _ROLE_FUNCTION.match(text):
                part, role = function[1], self._plan.roles[int(function[2])]
            elif document := _DOCUMENT.match(text):
                if role is None or "VARIABLES" in document[1]:
                    yield from self._exports(lines, document[1])
                elif part == "commands":
                    yield from self._commands(role.command.lines, lines, document[1])
                else:
                    yield from self._step(_step(role, part), lines, document[1])
            elif export := _EXPORT.match(text):
                of_fabric = role is not None and role.fabric is not None and export[1] in dict(role.fabric.variables)
                entry = _table()["fabric"] if of_fabric else self._export(export[1])
                yield self._made(number, text, entry, [role] if role else [])
            elif variable := _VARIABLE.match(text):
                owner = [self._plan.roles[int(variable[2])]] if variable[2] else []
                yield self._made(number, text, _table()["variables"].get(variable[1], {}), owner)
                if variable[1] == "EXIT_RULES":
                    return
            elif text == "}":
                part, role = "", None
        assert not part

    def _directive(self, number: int, text: str, match: re.Match[str]) -> Origin:
        if match[2]:
            self._component += 1
            rule = "a component for each task role: sbatch(1), heterogeneous jobs"
            return Origin(line=number, text=text, job_lines=(), rule=rule)
        options = _table()["options"]
        roles = [self._plan.roles[position] for position in self._plan.components[self._component].roles]
        return self._made(number, text, options.get(match[1], options["*"]), roles)

    def _export(self, name: str) -> Mapping[str, Any]:
        exports = _table()["exports"]
        found = [key for key in exports if name == key or (key.endswith("_") and name.startswith(key))]
        entry: Mapping[str, Any] = exports[max(found, key=len)] if found else exports["*"]
        return entry

    def _exports(self, lines: Iterable[tuple[int, str]], end: str) -> Iterator[Origin]:
        """Explain the variables of all tasks; those with a role's name at their end are that role's."""
        for number, text in lines:
            if text == end:
                return
            if "VARIABLES" in end:
                yield self._made(number, text, {"from": ["job-envs"]}, [])
            elif export := _EXPORT.match(text):
                roles = [role for role in self._plan.roles if export[1].endswith("_" + role.name)]
                yield self._made(number, text, self._export(export[1]), roles)

    def _step(self, step: Step, lines: Iterable[tuple[int, str]], end: str) -> Iterator[Origin]:
        """Explain what a prerequisite or a plugin runs."""
        if not step.script.program:
            yield from self._commands(step.script.lines, lines, end)
            return
        rule = f"what the plugin {step.script.program} does: PAI runtime, plugins"
        for number, text in lines:
            if text == end:
                return
            yield Origin(
                line=number, text=text, job_lines=tuple(range(step.lines.first, step.lines.last + 1)), rule=rule
            )

    def _commands(
        self, items: Sequence[tuple[int, int]], lines: Iterable[tuple[int, str]], end: str
    ) -> Iterator[Origin]:
        starts = [start for start, _ in items]
        for position, (number, text) in enumerate(lines):
            if text == end:
                return
            item = bisect_right(starts, position) - 1
            found = [items[item][1]] if item >= 0 else []
            used = [line for line in found for line in self._parameters(line)]
            rule = "the value of a parameter is put in: PAI protocol v2, parameters" if used else ""
            yield Origin(line=number, text=text, job_lines=tuple(sorted({*found, *used})), rule=rule)

    def _parameters(self, line: int) -> Iterator[int]:
        """Yield the lines of the parameters that a line of the job file refers to."""
        for name in _PARAMETER.findall(self._document.lines[line - 1]):
            if span := self._document.spans.get(("parameters", name)):
                yield span.key_line

    def _made(self, number: int, text: str, entry: Mapping[str, Any], roles: list[RolePlan]) -> Origin:
        """Return the origin of a line that is made of fields, of each of these roles where they are a role's."""
        job_lines: set[int] = set()
        rules: list[str] = []
        for name in entry.get("from", ()):
            field = _table()["fields"][name]
            spans = [span for path in self._paths(field, roles) if (span := self._document.spans.get(path))]
            for span in spans:
                last = span.key_line if field.get("key") else max(span.key_line, span.last_line)
                job_lines.update(range(span.key_line, last + 1))
            default = field.get(f"default-v{self._plan.protocol}", field.get("default"))
            if not spans and default:
                rules.append(f"default {default}")
        if rule := entry.get("rule"):
            rules.append(self._plan.layout.reason if rule == "LAYOUT" else rule)
        return Origin(line=number, text=text, job_lines=tuple(sorted(job_lines)), rule="; ".join(dict.fromkeys(rules)))

    def _paths(self, field: Mapping[str, Any], roles: list[RolePlan]) -> Iterator[Path]:
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


def _step(role: RolePlan, part: str) -> Step:
    """Return the step whose function is called `<part>_of_role_<n>`."""
    return next(step for step in (*role.before, *role.after) if f"{step.moment}_{step.number}" == part)
