"""What an exit code or a state of Slurm means, and what it leads to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ..errors import Diagnostic, NotFoundError, did_you_mean
from ..exit_codes.advice import UNEXPLAINED, UNLISTED, advice, retry_rule
from ..exit_codes.table import Behaviour, ExitTable, conditions, exit_codes
from .input.sites import find_site

if TYPE_CHECKING:
    import os

    from ..exit_codes.advice import Advice
    from ..exit_codes.table import ExitCode
    from .session import Session

LIVING = {
    "PENDING": "the job waits: WAITING",
    "RUNNING": "the job lives: RUNNING once a task of it ran",
    "UNKNOWN": "not known to this version: the job is UNKNOWN until Slurm says something else",
}
MAX_DIGITS = 9


class ExitMeaning(Struct, frozen=True, kw_only=True):
    """The meaning of an exit code or of a state of Slurm. A state that is no end has no exit code."""

    backend_state: str | None
    """The state of Slurm; None for an exit code."""
    exit_code: int | None = None
    """The exit code of OpenPAI."""
    phrase: str | None = None
    """What OpenPAI calls the exit code."""
    behaviour: Behaviour | None = None
    """How the exit code is retried."""
    meaning: str | None = None
    """What the state or the exit code means."""
    advice: str | None = None
    """What users can do."""
    retry_rule: str | None = None
    """By which rule a job that ends so is retried, or not."""
    type: str | None = None
    """OpenPAI's type of the exit code."""
    issuer: str | None = None
    """Who reports the exit code, in OpenPAI's word."""
    causer: str | None = None
    """Who causes the exit code, in OpenPAI's word."""
    stage: str | None = None
    """When the exit code comes, in OpenPAI's word."""
    exclude_node: bool | None = None
    """Whether the next attempts leave the node out."""
    backend_states: Mapping[str, str] = field(default_factory=dict)
    """The ends in Slurm that mean the exit code, each with a sentence."""
    conditions: tuple[str, ...] = ()
    """By what a failed command gets the exit code."""


class Explanation(Struct, frozen=True, kw_only=True):
    """A row of the table of exit codes, and the state that led to it; no row for a state that is no end.

    `is_listed` is false for a code that neither the exit specification nor the site has.
    """

    row: ExitCode | None
    is_listed: bool = True
    state: str = ""
    meaning: str = ""

    @property
    def advice(self) -> Advice | None:
        """What the end means and what to try."""
        if self.row is None:
            return None
        kind = self.row.type if self.is_listed else "unknown" if self.as_status else UNLISTED
        return advice(self.row.code, kind=kind)

    @property
    def as_status(self) -> str:
        """What exit code a command with such an exit status has, "" for what is no such status."""
        if self.row is None or not 0 < self.row.code < UNEXPLAINED or self.row.code in exit_codes():
            return ""
        return f"a command that ends with it has code {UNEXPLAINED}, unless a rule matches its log"

    @property
    def record(self) -> ExitMeaning:
        """The explanation as programs read it."""
        row, said, state = self.row, self.advice, self.state or None
        if row is None or said is None:
            return ExitMeaning(backend_state=state, meaning=self.meaning or None)
        return ExitMeaning(
            backend_state=state,
            exit_code=row.code,
            phrase=row.phrase,
            behaviour=row.behaviour,
            meaning=self.meaning or said.meaning,
            advice=said.text,
            retry_rule=retry_rule(row),
            type=row.type,
            issuer=row.issuer,
            causer=row.causer,
            stage=row.stage,
            exclude_node=row.exclude_node,
            backend_states=row.states,
            conditions=tuple(conditions(row.code)),
        )


def explain_exit(session: Session, what: str | int, site: str | os.PathLike[str] | None = None) -> Explanation:
    """Return what an exit code, its name, an exit status or a state of Slurm means, by the rows of a site profile.

    Raises NotFoundError for what is none of them.
    """
    return explained(str(what), ExitTable(find_site(session, None if site is None else str(site)).exit_rows))


def explained(what: str, table: ExitTable) -> Explanation:
    """Return what a code, a phrase or a state means; NotFoundError for what is none of them."""
    from paislurm.backends.slurm.states import STATES, normalize, phase

    if what.removeprefix("-").isdecimal() and len(what) <= MAX_DIGITS:
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
