"""Which failures of a command become which exit code: rules, in the order in which they are tried.

They stand in the rows of `table.yaml`. Source: OpenPAI exit specification.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Literal

from msgspec import Struct

from .table import Behaviour, rows


class ExitRule(Struct, frozen=True, kw_only=True):
    """Turn a failed command into a code: `status` is an exit status, `any`, or `ecc`; `pattern` is sought in its log.

    `pattern` is a POSIX extended regular expression, matched line by line in any case; empty matches always.
    """

    code: int
    behaviour: Behaviour
    status: str
    pattern: str

    @property
    def text(self) -> str:
        """Return the rule as the script holds it: four words, the last of which may have blanks inside."""
        kept = re.sub("^ | $", "[ ]", self.pattern)
        return f"{self.code} {self.behaviour} {self.status} {kept}".rstrip(" ")


def conditions(code: int) -> tuple[str, ...]:
    """Return in words what makes a failed command this code."""
    return tuple(
        " and ".join(
            part
            for part in (
                "a fault of a GPU's memory" if rule.status == "ecc" else "",
                f"exit status {rule.status}" if rule.status.isdigit() else "",
                f"a line of its log matches: {rule.pattern}" if rule.pattern else "",
            )
            if part
        )
        for rule in exit_rules("fixed")
        if rule.code == code
    )


@cache
def exit_rules(patterns: Literal["fixed", "original"]) -> tuple[ExitRule, ...]:
    """Return the rules in matching order; `original` leaves out the expressions that were fixed."""
    return tuple(rule for row in rows() if "when" in row for rule in _rules(row, patterns))


def _rules(row: dict[str, Any], patterns: str) -> list[ExitRule]:
    when = row["when"]
    status = str(when.get("gpu") or when.get("status") or "any")
    entries = [e if isinstance(e, dict) else {"expression": e} for e in when.get("log", [""])]
    return [
        ExitRule(
            code=row["code"],
            behaviour=row["behaviour"],
            status=status,
            pattern=entry["expression"],
        )
        for entry in entries
        if patterns == "fixed" or not entry.get("fixed")
    ]
