"""The meaning and the consequences of an exit code or a Slurm state."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ..errors import Diagnostic, NotFoundError, did_you_mean
from ..exit_codes.advice import UNLISTED, advice, retry_rule
from ..exit_codes.codes import FOLDER_NOT_SHARED, UNEXPLAINED, status_of_signal
from ..exit_codes.table import Behaviour, code_of_status, conditions
from ..monitor.verdict import NO_LOG

if TYPE_CHECKING:
    from ..exit_codes.advice import Advice
    from ..exit_codes.table import ExitCode, ExitTable

LIVING = {
    "PENDING": "the job waits: WAITING",
    "RUNNING": "the job has started: RUNNING after its first task has started",
    "UNKNOWN": "unknown to this version: the job is UNKNOWN until Slurm reports another state",
}
MAX_DIGITS = 9
_PAIR = re.compile(r"(?:(?:Derived)?ExitCode=)?([0-9]{1,3}):([0-9]{1,3})", re.IGNORECASE)
"""An exit status and a signal. Source: sacct(1), ExitCode; scontrol(1), show job."""
_SEFF = re.compile(r"(?:State: )?(\w+) \(exit code ([0-9]{1,3})\)", re.IGNORECASE)
"""The end of a job, as seff of Slurm's contribs prints it."""
_SIGNAL = re.compile(r"(?:signal )?(?:SIG)?([A-Z]\w+|[0-9]{1,2})(?: \([0-9]+\))?", re.IGNORECASE)
_NOT_SIGNALS = {NO_LOG: str(FOLDER_NOT_SHARED), 125: "OUT_OF_MEMORY"}
"""What Slurm means by numbers in place of a signal; 125 is the end of its SIG_OOM. Source: slurm.h; runs of 22.05."""


class ExitMeaning(Struct, frozen=True, kw_only=True):
    """The meaning of an exit code or a Slurm state. Only a final state has an exit code."""

    backend_state: str | None
    """The Slurm state; None for an exit code."""
    exit_code: int | None = None
    """The exit code of OpenPAI."""
    phrase: str | None = None
    """OpenPAI's name of the exit code."""
    behaviour: Behaviour | None = None
    """How the exit code is retried."""
    meaning: str | None = None
    """The meaning of the state or the exit code."""
    advice: str | None = None
    """What to do about it."""
    retry_rule: str | None = None
    """The rule for retrying a job that ends with it."""
    type: str | None = None
    """OpenPAI's type of the exit code."""
    issuer: str | None = None
    """The reporter of the exit code, as OpenPAI calls it."""
    causer: str | None = None
    """The cause of the exit code, as OpenPAI calls it."""
    stage: str | None = None
    """The phase of the exit code, as OpenPAI calls it."""
    exclude_node: bool | None = None
    """Whether the next attempts exclude the node."""
    backend_states: Mapping[str, str] = field(default_factory=dict)
    """The Slurm states that lead to the exit code, each with a sentence."""
    conditions: tuple[str, ...] = ()
    """The conditions under which a failed command gets the exit code."""


class Explanation(Struct, frozen=True, kw_only=True):
    """A row of the exit specification, and the Slurm state; no row for a state that is not final.

    `is_listed` is false for a code that neither OpenPAI nor the site defines.
    """

    row: ExitCode | None
    is_listed: bool = True
    state: str = ""
    meaning: str = ""

    @property
    def advice(self) -> Advice | None:
        """The meaning of the end, and the advice."""
        if self.row is None:
            return None
        if self.as_status and not self.is_listed:
            return advice(UNEXPLAINED, self.row.code)
        return advice(self.row.code, kind=self.row.type if self.is_listed else UNLISTED)

    @property
    def as_status(self) -> str:
        """The exit code of a command with this exit status, "" if it is this one or the number is no exit status."""
        if self.row is None or not 0 < self.row.code < UNEXPLAINED:
            return ""
        if code_of_status(self.row.code, "original")[0] == self.row.code:
            return ""
        return f"a command with this exit status gets code {UNEXPLAINED}, unless a rule matches its log"

    @property
    def record(self) -> ExitMeaning:
        """The explanation for JSON and the Python API."""
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


def plain_word(text: str) -> str:
    """Return the exit status or state in what Slurm's programs print, 128 + N for signal N, else the text."""
    if pair := _PAIR.fullmatch(text):
        if (number := int(pair[2])) in _NOT_SIGNALS:
            return _NOT_SIGNALS[number]
        return str(status_of_signal(pair[2]) or (text if number else int(pair[1])))
    if seff := _SEFF.fullmatch(text):
        return seff[2] if seff[1].upper() == "FAILED" else seff[1]
    if text.upper().startswith("CANCELLED BY "):
        return "CANCELLED"
    found = _SIGNAL.fullmatch(text)
    if found is None or text.isdecimal():
        return text
    return str(status_of_signal(found[1]) or text)


def explained(what: str, table: ExitTable) -> Explanation:
    """Return the meaning of a code, a name or a state. Raises NotFoundError."""
    from paislurm.backends.slurm.job_states import ALLOCATED, STATES, normalize, phase

    what = plain_word(what)
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
        return Explanation(row=None, state=word, meaning=ALLOCATED.get(word) or LIVING[phase(word).name])
    known = [*STATES, *(row.phrase for row in table.codes.values())]
    valid = "exit codes are numbers such as 137 or -1001, or Slurm's `0:9`; signals are `SIGKILL` or `signal 9`; "
    valid += f"states are {', '.join(sorted(STATES))}"
    hint = did_you_mean(what, known) or valid
    raise NotFoundError(Diagnostic(code="E524", message=f"`{what}` is no exit code, Slurm state or file", hint=hint))
