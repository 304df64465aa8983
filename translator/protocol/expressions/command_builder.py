"""Assembly of a role's command: the active deployment's commands around the role's, with references resolved.

Source: PAI protocol v2, commands and deployments; PAI rest-server: each item stripped, joined by line breaks,
rendered, and the whole stripped.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from .references import HINT_AT_LENGTH, OPEN, TOO_LONG, TextBudget, render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...reading.document import Path, Value
    from ...validation.diagnostics import DiagnosticCollector

_CONTROLLER_WORDS = re.compile(r"\{\{FC_\w+\}\}|\$\(FC_\w+\)", re.ASCII)
_OPENPAI_PROGRAM = re.compile(r"/usr/local/pai/(?:runtime|init)(?:\.d)?/[\w./-]*", re.ASCII)


class BuiltCommand(Struct, frozen=True):
    """Commands as one text; `lines` pairs line numbers of the text (from 0) and of the job file (from 1)."""

    text: str
    lines: tuple[tuple[int, int], ...]


def build_command(
    items: Sequence[tuple[Path, str]],
    roots: Mapping[str, Value],
    collector: DiagnosticCollector,
    *,
    keep: bool,
    budget: TextBudget | None = None,
) -> BuiltCommand:
    """Return the command that runs the items one after the other in one shell.

    `roots` are the values for references; `keep` keeps undefined references. The length of the text counts against
    the `budget` of the job. After the budget is used up, the text stays empty.
    """
    budget = budget or TextBudget()
    if budget.left < 0:
        return BuiltCommand("", ())
    if not budget.take(sum(len(text) for _, text in items)):
        collector.add("E321", items[0][0], TOO_LONG, hint=HINT_AT_LENGTH)
        return BuiltCommand("", ())
    stripped = [text.strip() for _, text in items]
    joined = "\n".join(stripped)
    starts = [0]
    for text in stripped:
        starts.append(starts[-1] + len(text) + 1)
    rendered = render(joined, roots, keep=keep, budget=budget)
    for problem in rendered.problems:
        if collector.is_full(problem.code):
            continue
        item = bisect_right(starts, problem.offset) - 1
        before = joined[starts[item] : problem.offset]
        path = items[item][0]
        location = collector.document.location_in(path, OPEN, before.count(OPEN))
        collector.add(problem.code, path, problem.message, hint=problem.hint, near=problem.near, location=location)
    _warn_controller_words(items, collector)
    text = rendered.text.strip()
    dropped = rendered.text[: len(rendered.text) - len(rendered.text.lstrip())].count("\n")
    lines: dict[int, int] = {}
    counted, breaks = 0, -dropped
    for (path, source), start, content in zip(items, starts, stripped, strict=False):
        for offset, line in _file_lines(path, source, content, collector):
            moved = rendered.moved(start + offset)
            if moved is not None:
                breaks += rendered.text.count("\n", counted, moved)
                counted = moved
                lines.setdefault(max(breaks, 0), line)
    return BuiltCommand(text, tuple(sorted(lines.items())))


def _file_lines(path: Path, source: str, content: str, collector: DiagnosticCollector) -> list[tuple[int, int]]:
    """Return the offsets of an item's lines, each with its line in the file.

    Return only the first line if the item's lines are not lines of the file, as in folded or quoted text.
    """
    span = collector.document.spans.get(path)
    if span is None:
        return []
    skipped = source[: len(source) - len(source.lstrip())].count("\n") if span.literal else 0
    first = span.text_line + skipped
    if not span.literal:
        return [(0, first)]
    offsets = [0, *(match.end() for match in re.finditer("\n", content))]
    return [(offset, first + number) for number, offset in enumerate(offsets)]


def _warn_controller_words(items: Sequence[tuple[Path, str]], collector: DiagnosticCollector) -> None:
    """Warn of placeholders that OpenPAI's controller replaced before the shell, and of files of its runtime.

    Source: frameworkcontroller; openpai-runtime, src/runtime.d.
    """
    for path, text in items:
        match = _CONTROLLER_WORDS.search(text)
        if match:
            location = collector.document.location_in(path, match[0], 0)
            message = f"`{match[0]}` reaches the shell unchanged; OpenPAI replaces it before the task starts"
            name = match[0].strip("{}$()")
            collector.add("W306", path, message, hint=f"write `${name}`, a variable of the task", location=location)
        match = _OPENPAI_PROGRAM.search(text)
        if match:
            location = collector.document.location_in(path, match[0], 0)
            message = f"`{match[0]}` is a file of OpenPAI's runtime, which does not exist in tasks"
            hint = (
                "remove it: variables are set before the commands; the plugin ssh with `sshbarrier` waits for all tasks"
            )
            collector.add("W337", path, message, hint=hint, location=location)


class RoleContext(Struct, frozen=True, kw_only=True):
    """The roots for references in the texts of one role; `keep` keeps undefined references.

    All roles of a job share one `budget`.
    """

    collector: DiagnosticCollector
    roots: Mapping[str, Value]
    keep: bool
    budget: TextBudget

    def of(self, parameters: Mapping[str, Value]) -> RoleContext:
        """Return the context for a prerequisite's texts, with `this.parameters`."""
        return replace(self, roots={**self.roots, "this": {"parameters": parameters}})

    def commands(self, items: Sequence[tuple[Path, str]]) -> BuiltCommand:
        """Return the commands as one text."""
        return build_command(items, self.roots, self.collector, keep=self.keep, budget=self.budget)

    def resolved(self, path: Path, value: Value) -> Value:
        """Return a value with all references resolved, also in nested values."""
        if isinstance(value, str):
            return self.commands([(path, value)]).text
        if isinstance(value, dict):
            return {key: self.resolved((*path, key), inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.resolved((*path, number), inner) for number, inner in enumerate(value)]
        return value
