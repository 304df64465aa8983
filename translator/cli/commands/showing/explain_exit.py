"""`paislurm explain-exit`: what an exit code or a state of Slurm means, and what it leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....errors import Diagnostic, NotFoundError
from ....lazy import dataclass
from ...options import examples, json_option
from ...output.console import print_json, print_result

if TYPE_CHECKING:
    from ....exit_codes.table import Behaviour, ExitCode, ExitTable

RETRY_RULES: dict[Behaviour, str] = {
    "transient": "retried without using up `jobRetryCount`, up to `retry.maxTransientRetries` of the site profile",
    "conflict": "retried as transient ones are, after a random delay of 1 to 15 minutes",
    "permanent": "never retried",
    "unknown": "retried as often as `jobRetryCount` says",
}
LIVING = {
    "PENDING": "the job waits: WAITING",
    "RUNNING": "the job lives: RUNNING once a task of it ran",
    "UNKNOWN": "not known to this version: the job is UNKNOWN until Slurm says something else",
}


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Hold a row, and the state that led to it; no row for a state that is no end."""

    row: ExitCode | None
    state: str = ""
    meaning: str = ""


@click.command(
    context_settings={"ignore_unknown_options": True},
    epilog=examples(
        "paislurm explain-exit 137",
        "paislurm explain-exit -1001",
        "paislurm explain-exit NODE_FAIL --json",
    ),
)
@click.argument("what", metavar="CODE|STATE")
@click.option("--site", metavar="FILE", help="The site profile, which may change what codes and states mean.")
@json_option
def command(what: str, site: str | None, *, as_json: bool) -> int:
    """Say what an exit code means, or a state of Slurm, and whether a job that ends so is retried.

    CODE is OpenPAI's exit code of a job or task, or its name. STATE is Slurm's word, long or short.
    """
    from ....exit_codes.table import ExitTable
    from ...input.sites import find_site

    explanation = explain(what, ExitTable(find_site(site).exit_rows))
    if as_json:
        print_json(_as_dict(explanation))
    else:
        print_result(_as_text(explanation))
    return 0


def explain(what: str, table: ExitTable) -> Explanation:
    """Return what a code, a phrase or a state means; NotFoundError for what is none of them."""
    from paislurm.backends.slurm.states import STATES, normalize, phase

    from ....validation.diagnostics import near_hint

    if what.removeprefix("-").isdecimal() and len(what) < 10:
        return Explanation(row=table.describe(int(what)))
    named = table.named(what)
    if named is not None:
        return Explanation(row=named)
    word = normalize(what.upper())
    if word in table.states:
        row, meaning = table.states[word]
        return Explanation(row=row, state=word, meaning=meaning)
    if word in STATES:
        return Explanation(row=None, state=word, meaning=LIVING[phase(word).name])
    known = [*STATES, *(row.phrase for row in table.codes.values())]
    diagnostic = Diagnostic(
        code="E524", message=f"`{what}` is no exit code and no state of Slurm", hint=near_hint(what, known)
    )
    raise NotFoundError(diagnostic)


def _as_dict(explanation: Explanation) -> dict[str, object]:
    from ....exit_codes.rules import conditions

    row = explanation.row
    state: dict[str, object] = {"backend_state": explanation.state or None, "meaning": explanation.meaning or None}
    if row is None:
        return state
    return state | {
        "exit_code": row.code,
        "phrase": row.phrase,
        "behaviour": row.behaviour,
        "retry_rule": _retry_rule(row),
        "type": row.type,
        "issuer": row.issuer,
        "causer": row.causer,
        "stage": row.stage,
        "exclude_node": row.exclude_node,
        "backend_states": dict(row.states),
        "conditions": list(conditions(row.code)),
    }


def _retry_rule(row: ExitCode) -> str:
    """Return what a job that ends so comes to. Source: OpenPAI retry policy."""
    return "the job succeeded" if row.code == 0 else RETRY_RULES[row.behaviour]


def _as_text(explanation: Explanation) -> str:
    from ....exit_codes.rules import conditions
    from ....text_tables import pairs_text

    row = explanation.row
    if row is None:
        return f"{explanation.state}  {explanation.meaning}"
    rows = [
        ("state", f"{explanation.state}: {explanation.meaning}" if explanation.state else ""),
        ("code", str(row.code)),
        ("phrase", row.phrase),
        ("behaviour", f"{row.behaviour}: {_retry_rule(row)}" if row.code else _retry_rule(row)),
        ("node", "left out of the next attempts" if row.exclude_node else ""),
        ("type", row.type),
        ("reported by", row.issuer),
        ("caused by", row.causer),
        ("when", row.stage),
        ("states", ", ".join(row.states)),
        *(("found by", condition) for condition in conditions(row.code)),
    ]
    return pairs_text(rows)
