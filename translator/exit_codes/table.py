"""The exit specification: meanings of exit codes, and the rules from failures to exit codes.

The table is `table.yaml`; a site may add rows. Source: OpenPAI exit specification.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, Literal, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from ..shipped import shipped_table
from .codes import UNEXPLAINED, UNLISTED, UNLISTED_NEGATIVE

Behaviour = Literal["transient", "conflict", "permanent", "unknown"]
BEHAVIOURS: tuple[Behaviour, ...] = get_args(Behaviour)


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
"""The issuers and causers of exit codes on this cluster, by OpenPAI's word; none for UNKNOWN."""


class ExitCode(Struct, frozen=True, kw_only=True):
    """One exit code. `behaviour` decides on retries, `exclude_node` on their nodes; other fields are informational.

    `states` are Slurm's states that mean this code, each with a sentence.
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
        """The issuer on this cluster; "" if unknown."""
        return PARTIES.get(self.issuer, "")

    @property
    def caused_by(self) -> str:
        """The causer on this cluster; "" if unknown."""
        # Slurm reports lost nodes and preempted jobs, but causes neither.
        return "the cluster" if self.causer == "K8S" else PARTIES.get(self.causer, "")


class SiteRow(Struct, frozen=True, kw_only=True):
    """A row of the exit specification that a site changes or adds; None keeps the shipped value."""

    exit_code: int
    """The exit code."""
    phrase: str | None = None
    """The site's name of the code."""
    behaviour: Behaviour | None = None
    """How an exit code is retried: `success`, `transient`, `conflict`, `permanent`, `unknown` or `stop`."""
    backend_states: Mapping[str, str] = field(default_factory=dict)
    """Sentences by the states of Slurm that mean the exit code."""
    exclude_node: bool | None = None
    """Whether the next attempts avoid the node."""


class ExitTable:
    """Find codes and Slurm's states in the shipped table with a site's rows over it."""

    def __init__(self, rows: tuple[SiteRow, ...] = ()) -> None:
        self._rows = rows

    @cached_property
    def codes(self) -> Mapping[int, ExitCode]:
        """All codes with a row."""
        codes = dict(exit_codes())
        for row in self._rows:
            codes[row.exit_code] = _merged_row(row, codes.get(row.exit_code))
        return codes

    @cached_property
    def states(self) -> Mapping[str, tuple[ExitCode, str]]:
        """The meaning of each final state of Slurm. A site's row takes a state from the shipped row that has it."""
        shipped = {word: (code, text) for code in self.codes.values() for word, text in code.states.items()}
        return shipped | {
            word: (self.codes[row.exit_code], text) for row in self._rows for word, text in row.backend_states.items()
        }

    def describe(self, code: int, reported: str = "") -> ExitCode:
        """Return the row of a code; an unlisted code gets the texts of its kind.

        `reported` is the behaviour in the script's result, "" if unknown. It takes precedence over the shipped one: a
        registry that does not answer has the code of a missing image, but is retried. A site's row overrides both.
        """
        unlisted = self.codes[UNLISTED if code > 0 else UNLISTED_NEGATIVE]
        row = self.codes.get(code) or replace(unlisted, code=code, states={})
        if reported not in BEHAVIOURS or any(each.exit_code == code and each.behaviour for each in self._rows):
            return row
        return replace(row, behaviour=reported)

    def named(self, phrase: str) -> ExitCode | None:
        """Return the row of a phrase, in any case."""
        return next((row for row in self.codes.values() if row.phrase.lower() == phrase.lower()), None)


def _merged_row(row: SiteRow, shipped: ExitCode | None) -> ExitCode:
    """Return a site's row over the shipped row of its code, or a new row."""
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
    """Return the rows of the shipped table as written."""
    return tuple(shipped_table("translator/exit_codes/table.yaml"))


@cache
def exit_codes() -> Mapping[int, ExitCode]:
    """Return all shipped exit codes by number, in the order of the table."""
    plain = {*ExitCode.__struct_fields__}
    return {
        row["code"]: ExitCode(
            **{key: value for key, value in row.items() if key in plain}, exclude_node=row.get("excludeNode", False)
        )
        for row in rows()
    }


class ExitRule(Struct, frozen=True, kw_only=True):
    """Map a failed command to a code: `status` is an exit status, `any`, or `ecc`; `pattern` is searched in its log.

    `pattern` is a POSIX extended regular expression, matched line by line, ignoring case; an empty one always matches.
    """

    code: int
    behaviour: Behaviour
    status: str
    pattern: str

    @property
    def text(self) -> str:
        """Return the rule in the form of the script: four words; only the last one may contain blanks."""
        kept = re.sub("^ | $", "[ ]", self.pattern)
        return f"{self.code} {self.behaviour} {self.status} {kept}".rstrip(" ")


def conditions(code: int) -> tuple[str, ...]:
    """Return the conditions that give a failed command this code, as texts."""
    return tuple(
        " and ".join(
            part
            for part in (
                "a memory error of a GPU" if rule.status == "ecc" else "",
                f"exit status {rule.status}" if rule.status.isdigit() else "",
                f"a line of the log matches: {rule.pattern}" if rule.pattern else "",
            )
            if part
        )
        for rule in exit_rules("original")
        if rule.code == code
    )


@cache
def exit_rules(patterns: Literal["fixed", "original"]) -> tuple[ExitRule, ...]:
    """Return the rules in matching order: OpenPAI's as written, or also the `fixed` expressions.

    A `.*` at the end of an expression matters only to OpenPAI's handler: see `exit_rules.sh`.
    """
    return tuple(rule for row in rows() if "when" in row for rule in _rules(row, patterns))


@cache
def corrected_rules() -> tuple[ExitRule, ...]:
    """Return the rules of `fixed` whose expressions OpenPAI does not have."""
    known = {rule.pattern.removesuffix(".*") for rule in exit_rules("original")}
    return tuple(rule for rule in exit_rules("fixed") if rule.pattern not in known)


def code_of_status(status: int, patterns: Literal["fixed", "original"]) -> tuple[int, Behaviour]:
    """Return the code and behaviour of a failed command if no line of its log matches a rule."""
    for rule in exit_rules(patterns):
        if rule.status in ("any", str(status)) and not rule.pattern:
            return rule.code, rule.behaviour
    return UNEXPLAINED, "unknown"


def _rules(row: dict[str, Any], patterns: str) -> list[ExitRule]:
    when = row["when"]
    status = str(when.get("gpu") or when.get("status") or "any")
    entries = [e if isinstance(e, dict) else {"expression": e} for e in when.get("log", [""])]
    return [
        ExitRule(
            code=row["code"],
            behaviour=row["behaviour"],
            status=status,
            pattern=entry["expression"] if patterns == "original" else entry["expression"].removesuffix(".*"),
        )
        for entry in entries
        if patterns == "fixed" or not entry.get("fixed")
    ]
