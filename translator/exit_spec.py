"""The exit specification: what an exit code means, and which failures of a command become which code.

The table itself is `exit-spec.yaml`. Source: OpenPAI exit specification.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Behaviour = Literal["transient", "conflict", "permanent", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitCode:
    """Describe one exit code. `behaviour` decides about retries, the rest is for people."""

    code: int
    phrase: str
    behaviour: Behaviour
    type: str
    issuer: str
    causer: str
    stage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitRule:
    """Turn a failed command into a code: `status` is an exit status, `any`, or `ecc`; `pattern` is sought in its log.

    `pattern` is a POSIX extended regular expression, matched line by line in any case; empty matches always.
    """

    code: int
    behaviour: Behaviour
    status: str
    pattern: str

    @property
    def text(self) -> str:
        """Return the rule as the script holds it: four words, the last of which may have blanks."""
        return f"{self.code} {self.behaviour} {self.status} {self.pattern}".rstrip(" ")


@cache
def _table() -> tuple[dict[str, Any], ...]:
    import yaml

    text = (files("paislurm") / "translator" / "exit-spec.yaml").read_text(encoding="utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return tuple(yaml.load(text, Loader=loader))  # noqa: S506 - a safe loader, in C where there is one


@cache
def exit_codes() -> dict[int, ExitCode]:
    """Return every exit code by its number, in the order of the table."""
    return {row["code"]: ExitCode(**{k: v for k, v in row.items() if k != "when"}) for row in _table()}


@cache
def exit_rules(patterns: Literal["mended", "original"]) -> tuple[ExitRule, ...]:
    """Return the rules in matching order; `original` leaves out the expressions that were mended."""
    return tuple(rule for row in _table() if "when" in row for rule in _rules(row, patterns))


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
        if patterns == "mended" or not entry.get("mended")
    ]


def behaviour_of(code: int) -> Behaviour:
    """Return how a code is retried; codes that the table does not list are unknown."""
    listed = exit_codes().get(code)
    return listed.behaviour if listed else "unknown"
