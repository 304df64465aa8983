"""Poll the states of jobs repeatedly: read their files often, poll the backend rarely."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ...state.job_folder import JobFolder
from ...state.result import read_stall
from ..results.failure import failure_of
from .job_sites import JobSites
from .listing import lines
from .polling import BY_A_PERSON
from .refresh import refresh
from .waiting import TICK, Pace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from ...view.line import JobLine
    from ..session import Session
    from .listing import Found

MIN_INTERVAL = 2.0
MAX_NOTES = 50
"""Most failed jobs whose logs are read."""


class Poll(NamedTuple):
    """The jobs, those that changed since the last poll, and why a backend did not answer, or "".

    `notes` are by the name of a job: the stall of a running one, the last words of one that failed.
    """

    found: list[JobLine]
    changed: list[JobLine]
    problem: str
    notes: Mapping[str, str]

    @property
    def over(self) -> bool:
        """Return whether all jobs have ended."""
        return all(line.ended or not line.readable for line in self.found)


class JobLines:
    """A line for each named job, or for all jobs that were unfinished at the first poll or later.

    The members of a sweep count together: one that has ended is shown while another is unfinished.
    """

    def __init__(self, session: Session, names: Collection[str]) -> None:
        self._session, self._names = session, names or None
        self._shown = set(names)
        self._pace = Pace(0)
        self._max_age, self._later = BY_A_PERSON, JobSites(session).interval()
        self._seen: dict[str, JobLine] = {}
        self._last_words: dict[str, str] = {}

    def poll(self, now: float, *, fresh: bool = False) -> Poll | None:
        """Return the states of the jobs; None if no poll is due. `now` is in seconds of any clock.

        With `fresh`, poll results are as recent as for interactive commands.
        """
        if not self._pace.due(now):
            return None
        named = self._names is not None
        if fresh and any(line.state == "WAITING" for line in self._seen.values()):
            self._max_age = min(BY_A_PERSON, self._later)
        found = lines(self._session, self._session.store, everything=named, max_age=self._max_age, names=self._names)
        self._max_age = self._later
        if not named:
            living = [line for line in found.lines if line.readable and not line.ended]
            groups = {line.group for line in living if line.group}
            self._shown |= {line.name for line in (*living, *(each for each in found.lines if each.group in groups))}
        shown = [line for line in found.lines if line.name in self._shown]
        seen = {line.name: _lasting(line, found) for line in shown}
        if list(seen.values()) != list(self._seen.values()):
            self._pace = Pace(MIN_INTERVAL, *_watched_paths(self._session, shown))
            self._pace.due(now)
        changed = [line for line in shown if seen[line.name] != self._seen.get(line.name)]
        self._seen = seen
        notes = {line.name: note for line in shown if (note := self._note(line))}
        return Poll(shown, changed, "; ".join(found.problems), notes)

    def _note(self, line: JobLine) -> str:
        """Return the stall of a running job, the last words of a failed one, "" for others."""
        if line.state == "FAILED" and line.ended and line.readable:
            if line.name not in self._last_words and len(self._last_words) < MAX_NOTES:
                failure = failure_of(self._session, refresh(self._session, JobFolder(path=Path(line.folder))))
                self._last_words[line.name] = (failure.last_words or "") if failure else ""
            return self._last_words.get(line.name, "")
        stall = None if line.ended else read_stall(JobFolder(path=Path(line.folder)).stall(line.attempt))
        return f"stalled: {stall.reason}" if stall else ""


def watch(session: Session, names: Collection[str] = (), *, once: bool = False) -> Iterator[JobLine]:
    """Yield the state of each job, then each change until all jobs have ended; with `once`, yield no changes.

    Default for `names`: all jobs that have not ended. Outages of a backend are events.
    """
    jobs, reported = JobLines(session, names), ""
    while True:
        poll = jobs.poll(time.monotonic())
        if poll is not None:
            if poll.problem and poll.problem != reported:
                session.say(f"these are the last known states; a backend does not answer: {poll.problem}")
            reported = poll.problem
            yield from poll.changed
            if once or poll.over:
                return
        time.sleep(TICK)


def _lasting(line: JobLine, found: Found) -> JobLine:
    """Return a line without values that change while the state stays the same."""
    reason = found.lasting_reasons.get(line.name, line.reason)
    return replace(line, reason=reason, expected_start_at=None, waits_began_at=None, time_limit=None)


def _watched_paths(session: Session, found: Sequence[JobLine]) -> Iterator[Path]:
    """Yield the files that change on an event of a job."""
    yield session.store.jobs
    for line in found:
        folder = JobFolder(path=Path(line.folder))
        yield folder.journal
        yield folder.result(line.attempt)
