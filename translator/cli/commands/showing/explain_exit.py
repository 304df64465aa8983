"""`paislurm explain-exit`: what an exit code or a state of Slurm means, and what it leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec import Struct

from ....errors import Diagnostic, NotFoundError, did_you_mean
from ...options import examples, json_option, pass_session
from ...output.console import print_json, print_result
from ...shell.known_names import Exit, ExitCommand

if TYPE_CHECKING:
    from ....app.session import Session
    from ....exit_codes.advice import Advice
    from ....exit_codes.table import ExitCode, ExitTable

LIVING = {
    "PENDING": "the job waits: WAITING",
    "RUNNING": "the job lives: RUNNING once a task of it ran",
    "UNKNOWN": "not known to this version: the job is UNKNOWN until Slurm says something else",
}


class Explanation(Struct, frozen=True, kw_only=True):
    """Hold a row, and the state that led to it; no row for a state that is no end.

    `is_listed` is false for a code that neither the exit specification nor the site has.
    """

    row: ExitCode | None
    is_listed: bool = True
    state: str = ""
    meaning: str = ""


@click.command(
    cls=ExitCommand,
    context_settings={"ignore_unknown_options": True},
    epilog=examples(
        "paislurm explain-exit 137",
        "paislurm explain-exit -1001",
        "paislurm explain-exit NODE_FAIL --json",
    ),
)
@click.argument("what", metavar="CODE|STATE", type=Exit())
@click.option("--site", metavar="FILE", help="The site profile, which may change what codes and states mean.")
@json_option
@pass_session
def command(session: Session, what: str, site: str | None, *, as_json: bool) -> int:
    """Say what an exit code means, or a state of Slurm, and whether a job that ends so is retried.

    CODE is OpenPAI's exit code of a job or task, or its name, or the exit status of a command. STATE is Slurm's word,
    long or short.
    """
    from ....app.input.sites import find_site
    from ....exit_codes.table import ExitTable

    explanation = explain(what, ExitTable(find_site(session, site).exit_rows))
    if as_json:
        print_json(_as_dict(explanation))
    else:
        print_result(_as_text(explanation))
    return 0


def explain(what: str, table: ExitTable) -> Explanation:
    """Return what a code, a phrase or a state means; NotFoundError for what is none of them."""
    from paislurm.backends.slurm.states import STATES, normalize, phase

    if what.removeprefix("-").isdecimal() and len(what) < 10:
        return Explanation(row=table.describe(int(what)), is_listed=int(what) in table.codes)
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
    valid = f"exit codes are numbers such as 137 or -1001; states are {', '.join(sorted(STATES))}"
    hint = did_you_mean(what, known) or valid
    raise NotFoundError(Diagnostic(code="E524", message=f"`{what}` is no exit code and no state of Slurm", hint=hint))


_OF_CODES = (
    "exit_code", "phrase", "behaviour", "advice", "retry_rule", "type", "issuer", "causer", "stage", "exclude_node",
)  # fmt: skip
"""Keys that are null where a state means no exit code."""


def _as_dict(explanation: Explanation) -> dict[str, object]:
    from ....exit_codes.advice import retry_rule
    from ....exit_codes.table import conditions

    row = explanation.row
    state: dict[str, object] = {"backend_state": explanation.state or None, "meaning": explanation.meaning or None}
    if row is None:
        return state | dict.fromkeys(_OF_CODES) | {"backend_states": {}, "conditions": []}
    return state | {
        "exit_code": row.code,
        "phrase": row.phrase,
        "behaviour": row.behaviour,
        "meaning": explanation.meaning or _advice(explanation, row).meaning,
        "advice": _advice(explanation, row).text,
        "retry_rule": retry_rule(row),
        "type": row.type,
        "issuer": row.issuer,
        "causer": row.causer,
        "stage": row.stage,
        "exclude_node": row.exclude_node,
        "backend_states": dict(row.states),
        "conditions": list(conditions(row.code)),
    }


def _advice(explanation: Explanation, row: ExitCode) -> Advice:
    from ....exit_codes.advice import UNLISTED, advice

    kind = row.type if explanation.is_listed else "unknown" if _of_status(row.code) else UNLISTED
    return advice(row.code, kind=kind)


def _of_status(code: int) -> str:
    """Return what code a command gets that ends with such an exit status, "" for what is a code of its own."""
    from ....exit_codes.advice import UNEXPLAINED
    from ....exit_codes.table import exit_codes

    if not 0 < code < UNEXPLAINED or code in exit_codes():
        return ""
    return f"a command that ends with it has code {UNEXPLAINED}, unless a rule matches its log"


def _as_text(explanation: Explanation) -> str:
    from ....exit_codes.advice import retry_rule
    from ....exit_codes.table import conditions
    from ....text_tables import pairs_text

    row = explanation.row
    if row is None:
        return f"{explanation.state}  {explanation.meaning}"
    said = _advice(explanation, row)
    listed = row if explanation.is_listed else None
    rows = [
        ("state", f"{explanation.state}: {explanation.meaning}" if explanation.state else ""),
        ("code", str(row.code)),
        ("phrase", row.phrase),
        ("exit status", _of_status(row.code)),
        ("usually", said.meaning),
        ("look at", said.look),
        ("try", said.remedy),
        ("behaviour", f"{row.behaviour}: {retry_rule(row)}" if row.code else retry_rule(row)),
        ("node", "left out of the next attempts" if row.exclude_node else ""),
        ("type", listed.type if listed else ""),
        ("reported by", listed.reported_by if listed else ""),
        ("caused by", listed.caused_by if listed else ""),
        ("when", listed.stage if listed else ""),
        ("states", ", ".join(row.states)),
        *(("found by", condition) for condition in conditions(row.code)),
    ]
    return pairs_text(rows)
