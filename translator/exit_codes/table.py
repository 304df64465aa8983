"""The exit specification: what an exit code means, and which failures of a command or ends of a job become which.

The table itself is `table.yaml`; a site may add to it. Source: OpenPAI exit specification.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, Literal, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from ..shipped import shipped_table

Behaviour = Literal["transient", "conflict", "permanent", "unknown"]
BEHAVIOURS: tuple[Behaviour, ...] = get_args(Behaviour)

UNLISTED = 256
UNLISTED_NEGATIVE = -8000
"""The rows that describe every code without a row of its own."""


PARTIES: Mapping[str, str] = {
    "ALLOC_TIMEOUT": "a time limit for the allocation",
    "DB_CONTROLLER": "the cluster",
    "DOCKER": "the container runtime, or Slurm",
    "FC": "paislurm",
    "HW": "the hardware",
    "K8S": "Slurm",
    "OS": "the operating system",
    "RUNTIME": "the batch script",
    "SITE": "the site profile",
    "USER": "the job",
    "USER_SCALEDOWN": "a user",
    "USER_STOP": "a user's cancel, or a time limit",
    "USER_SUBMISSION": "the job file",
}
"""Who reports or causes an exit code here, by OpenPAI's word; none for UNKNOWN."""


class ExitCode(Struct, frozen=True, kw_only=True):
    """Describe one exit code. `behaviour` decides about retries, `exclude_node` about where to; the rest is for people.

    `states` are Slurm's words for an end that means this code, each with a sentence.
    """

    code: int
    phrase: str
    behaviour: Behaviour
    type: str
    issuer: str
    causer: str
    stage: str
    states: Mapping[str, str] = field(default_factory=dict)
    exclude_node: bool = False

    @property
    def reported_by(self) -> str:
        """Who reports it, in words for this cluster; "" where that is not known."""
        return PARTIES.get(self.issuer, "")

    @property
    def caused_by(self) -> str:
        """Who causes it, in words for this cluster; "" where that is not known."""
        # Slurm reports a node that is lost and a job that is preempted: it causes neither.
        return "the cluster" if self.causer == "K8S" else PARTIES.get(self.causer, "")


class SiteRow(Struct, frozen=True, kw_only=True):
    """Change or add a row: None leaves what the shipped row says."""

    exit_code: int
    phrase: str | None = None
    behaviour: Behaviour | None = None
    backend_states: Mapping[str, str] = field(default_factory=dict)
    exclude_node: bool | None = None


class ExitTable:
    """Look codes and Slurm's states up, in the shipped table with a site's rows over it."""

    def __init__(self, rows: tuple[SiteRow, ...] = ()) -> None:
        self._rows = rows

    @cached_property
    def codes(self) -> Mapping[int, ExitCode]:
        """Every code that has a row of its own."""
        codes = dict(exit_codes())
        for row in self._rows:
            codes[row.exit_code] = _over(row, codes.get(row.exit_code))
        return codes

    @cached_property
    def states(self) -> Mapping[str, tuple[ExitCode, str]]:
        """What each end means, by Slurm's word for it. A site's row takes a state away from the row that has it."""
        shipped = {word: (code, text) for code in self.codes.values() for word, text in code.states.items()}
        return shipped | {
            word: (self.codes[row.exit_code], text) for row in self._rows for word, text in row.backend_states.items()
        }

    def describe(self, code: int) -> ExitCode:
        """Return the row of a code; one that is not listed has the texts of its kind, and is unknown."""
        unlisted = self.codes[UNLISTED if code > 0 else UNLISTED_NEGATIVE]
        return self.codes.get(code) or replace(unlisted, code=code, states={})

    def named(self, phrase: str) -> ExitCode | None:
        """Return the row of a phrase, in any case."""
        return next((row for row in self.codes.values() if row.phrase.lower() == phrase.lower()), None)


def _over(row: SiteRow, shipped: ExitCode | None) -> ExitCode:
    """Return a site's row over the shipped one of its code, or a new one."""
    base = shipped or ExitCode(
        code=row.exit_code, phrase=f"SiteExitCode{row.exit_code}", behaviour="unknown", type="site", issuer="SITE",
        causer="UNKNOWN", stage="unknown",
    )  # fmt: skip
    return replace(
        base,
        phrase=row.phrase or base.phrase,
        behaviour=row.behaviour or base.behaviour,
        states={**base.states, **row.backend_states},
        exclude_node=base.exclude_node if row.exclude_node is None else row.exclude_node,
    )


@cache
def rows() -> tuple[dict[str, Any], ...]:
    """Return the rows of the shipped table as they are written."""
    return tuple(shipped_table("translator/exit_codes/table.yaml"))


@cache
def exit_codes() -> Mapping[int, ExitCode]:
    """Return every shipped exit code by its number, in the order of the table."""
    plain = {*ExitCode.__struct_fields__}
    return {
        row["code"]: ExitCode(
            **{key: value for key, value in row.items() if key in plain}, exclude_node=row.get("excludeNode", False)
        )
        for row in rows()
    }


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
