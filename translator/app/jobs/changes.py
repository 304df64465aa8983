"""Look again and again at how jobs stand: their files often, the backend seldom."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ...state.job_folder import JobFolder
from .asking import BY_A_PERSON
from .job_sites import JobSites
from .listing import lines
from .waiting import TICK, Pace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ..session import Session
    from ..views.line import JobLine
    from .listing import Found

MIN_INTERVAL = 2.0


class Look(NamedTuple):
    """What was found of the jobs, those that changed since the last look, and why a backend did not answer, or ""."""

    found: list[JobLine]
    changed: list[JobLine]
    problem: str

    @property
    def over(self) -> bool:
        """Tell whether nothing will change any more."""
        return all(line.ended or not line.readable for line in self.found)


class JobLines:
    """Gather a line for each job: of those that are named, or of all that have not ended at the first look or later."""

    def __init__(self, session: Session, names: Collection[str]) -> None:
        self._session, self._names = session, names or None
        self._shown = set(names)
        self._pace = Pace(0)
        self._max_age, self._later = BY_A_PERSON, JobSites(session).interval()
        self._seen: dict[str, JobLine] = {}

    def look(self, now: float, *, fresh: bool = False) -> Look | None:
        """Return how the jobs stand; None while it is not time to look. `now` is in seconds of any clock.

        With `fresh`, why jobs wait is no older than a person is shown it.
        """
        if not self._pace.due(now):
            return None
        named = self._names is not None
        if fresh and any(line.state == "WAITING" for line in self._seen.values()):
            self._max_age = min(BY_A_PERSON, self._later)
        found = lines(self._session, self._session.store, everything=named, max_age=self._max_age, names=self._names)
        self._max_age = self._later
        if not named:
            self._shown |= {line.name for line in found.lines if line.readable and not line.ended}
        shown = [line for line in found.lines if line.name in self._shown]
        seen = {line.name: _lasting(line, found) for line in shown}
        if list(seen.values()) != list(self._seen.values()):
            self._pace = Pace(MIN_INTERVAL, *_watched_paths(self._session, shown))
            self._pace.due(now)
        changed = [line for line in shown if seen[line.name] != self._seen.get(line.name)]
        self._seen = seen
        return Look(shown, changed, "; ".join(found.problems))


def watch(session: Session, names: Collection[str] = (), *, once: bool = False) -> Iterator[JobLine]:
    """Yield how each job stands whenever that has changed, until all have ended, or `once`.

    The jobs have these names; without one they are all that have not ended. Why a backend does not answer is said.
    """
    jobs, told = JobLines(session, names), ""
    while True:
        look = jobs.look(time.monotonic())
        if look is not None:
            if look.problem and look.problem != told:
                session.say(f"states are those that were known last; a backend does not answer: {look.problem}")
            told = look.problem
            yield from look.changed
            if once or look.over:
                return
        time.sleep(TICK)


def _lasting(line: JobLine, found: Found) -> JobLine:
    """Return a line without what changes by itself while the job stands as it does."""
    reason = found.lasting_reasons.get(line.name, line.reason)
    return replace(line, reason=reason, expected_start_at=None, waits_began_at=None, time_limit=None)


def _watched_paths(session: Session, found: Sequence[JobLine]) -> Iterator[Path]:
    """Return what is written when something happens."""
    yield session.store.jobs
    for line in found:
        folder = JobFolder(path=Path(line.folder))
        yield folder.journal
        yield folder.result(line.attempt)
