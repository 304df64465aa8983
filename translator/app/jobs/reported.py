"""Events during a wait for a job: why it waits, and how its attempts ended."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from ...exit_codes.table import ExitTable
from ...monitor.failure import usual_advice
from ...monitor.waits import SETTLED_SECONDS
from ...plural import attempt_name
from ...terminal_text import one_line
from ...times import format_time, time_of_day
from ...view.states import state_of, state_text
from ...view.waits import advice, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...exit_codes.advice import Advice
    from ...state.history import History
    from ...state.records import Retry
    from ...view.waits import Wait
    from ..session import Session

MAX_BEFORE = 3
"""Most reported attempts that had ended before the wait."""


class ReportedWaits:
    """Report why a job waits, once for each reason; all of Slurm's reasons for queueing count as one.

    A repeated reason is reported only after a while, because Slurm's reasons alternate.
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session, self._name = session, name
        self._last: frozenset[object] = frozenset()
        self._told: dict[frozenset[object], float] = {}

    def report(self, found: Sequence[Wait], since: int | None) -> None:
        """Report a new reason; ignore an unknown one."""
        other = frozenset((wait.role_names, wait.backend_reason) for wait in found if wait.kind != "turn")
        reasons: frozenset[object] = other or frozenset(["turn"])
        now = time.monotonic()
        if not found or reasons == self._last or now - self._told.get(reasons, -math.inf) < SETTLED_SECONDS:
            return
        self._last, self._told[reasons] = reasons, now
        self._session.say(f"{self._name} waits, since {format_time(since)}: {sentence(found)}")
        self._session.say(f"advice: {advice(found)}")


class ReportedAttempts:
    """Report for each attempt but the last how it ended, when the next one follows, and its job id.

    `quiet` reports nothing; without `starts`, submissions of attempts are not reported.
    """

    def __init__(self, session: Session, name: str, *, quiet: bool, starts: bool) -> None:
        self._session, self._name, self._quiet, self._starts = session, name, quiet, starts
        self._ends: int | None = None
        self._start: int | None = None
        self._advised: list[Advice] = []

    def report(self, known: History) -> None:
        """Report new ends and submissions of attempts."""
        if self._quiet:
            return
        if self._ends is None or self._start is None:
            self._ends = max(0, len(known.retries) - MAX_BEFORE)
            self._start = known.attempt
        now = self._session.now()
        for retry in known.retries[self._ends :]:
            when = time_of_day(retry.ended_at or retry.happened_at)
            self._session.say(one_line(f"{when} {ended_text(self._name, retry, now)}"))
        self._advise(known)
        self._ends = max(self._ends, len(known.retries))
        if known.attempt > self._start and known.job_id:
            self._start = known.attempt
            if self._starts:
                when = time_of_day(known.submitted or now)
                self._session.say(
                    one_line(f"{when} {attempt_name(known.attempt)} of {self._name} is job {known.job_id}")
                )

    def _advise(self, known: History) -> None:
        """Report once for each exit code its usual meaning, while the next attempt can be cancelled."""
        retry = known.retry if known.is_between_attempts else None
        said = usual_advice(ExitTable(known.exit_rows), retry.exit_code) if retry is not None else None
        if said is not None and said not in self._advised:
            self._advised.append(said)
            self._session.say(one_line(f"usual cause: {said.meaning}; try: {said.remedy}"))


def ended_text(name: str, retry: Retry, now: int) -> str:
    """Return how an attempt ended, and when the next one follows, in words."""
    when = f" in {retry.retry_at - now} s" if retry.retry_at > now else ""
    follows = f"{attempt_name(retry.attempt + 1)} follows{when} ({retry.retry_rule})"
    state = state_text(state_of(retry.exit_code), retry.exit_code)
    return f"{attempt_name(retry.attempt)} of {name} {state}: {retry.reason}; {follows}"
