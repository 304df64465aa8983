"""Look again and again at how jobs stand: their files often, the backend seldom."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...state.job_folder import JobFolder
from .asking import BY_A_PERSON
from .job_sites import JobSites
from .listing import lasting, lines
from .waiting import Pace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ..session import Session
    from .listing import Line

MIN_INTERVAL = 2.0


class Look(NamedTuple):
    """What was found of the jobs, and why a backend did not answer, "" where all did."""

    found: list[Line]
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
        self._seen: list[Line] = []

    def look(self, now: float, *, fresh: bool = False) -> Look | None:
        """Return how the jobs stand; None while it is not time to look. `now` is in seconds of any clock.

        With `fresh`, why jobs wait is no older than a person is shown it.
        """
        if not self._pace.due(now):
            return None
        named = self._names is not None
        if fresh and any(line.state == "WAITING" for line in self._seen):
            self._max_age = min(BY_A_PERSON, self._later)
        found, problems = lines(
            self._session, self._session.store, everything=named, max_age=self._max_age, names=self._names
        )
        self._max_age = self._later
        if not named:
            self._shown |= {line.name for line in found if line.readable and not line.ended}
        news = [line for line in found if line.name in self._shown]
        if [lasting(line) for line in news] != self._seen:
            self._pace = Pace(MIN_INTERVAL, *_watched_paths(self._session, news))
            self._pace.due(now)
        self._seen = [lasting(line) for line in news]
        return Look(news, "; ".join(problems))


def _watched_paths(session: Session, found: Sequence[Line]) -> Iterator[Path]:
    """Return what is written when something happens."""
    yield session.store.jobs
    for line in found:
        folder = JobFolder(path=Path(line.folder))
        yield folder.journal
        yield folder.result(line.attempt)
