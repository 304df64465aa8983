"""The open job of a live screen: poll it when its files change, and read what the page shows besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import PaislurmError
from ...monitor.job_files import needs_answer
from ..job_view import job_view
from ..usage import usages_of
from .changes import MIN_INTERVAL
from .job_sites import JobSites
from .polling import BY_A_PERSON
from .progress import progress_of, report_files
from .refresh import refresh
from .tails import Tail, Tails
from .waiting import Pace

if TYPE_CHECKING:
    from ...monitor.poll import View
    from ...view.job import JobView
    from ...view.task import Usage
    from ..session import Session
    from .progress import Progress
    from .tails import Stream


class OpenJob:
    """Polls of one job, when its files have changed or a poll is due; `asked`: Slurm was just polled.

    Different threads may poll the job, read a log and query the usage.
    """

    def __init__(self, session: Session, name: str, *, asked: bool) -> None:
        self._session = session
        self._folder = session.store.find(name, user=session.user)
        self._pace = Pace(0)
        self._seen: tuple[View, JobView] | None = None
        self._sites = JobSites(session)
        self._later = self._sites.interval()
        self._max_age = self._later if asked else BY_A_PERSON
        self._tails = Tails(session)

    def poll(self, now: float, *, fresh: bool) -> JobView | None:
        """Return how the job stands; None if no poll is due. `fresh` as in `JobLines`."""
        if not self._pace.due(now):
            return None
        last = self._seen[0] if self._seen is not None else None
        if last is not None:
            soon = needs_answer(last) or (fresh and last.job_status.state == "WAITING")
            self._max_age = min(BY_A_PERSON, self._later) if soon else self._later
        view = refresh(self._session, self._folder, max_age=self._max_age)
        self._later = self._sites.of(view.history).poll_interval
        folder, attempt = view.folder, view.history.attempt
        if self._seen is None or view != last:
            paths = (folder.journal, folder.result(attempt), *report_files(folder, attempt))
            self._pace = Pace(MIN_INTERVAL, *paths)
            self._pace.due(now)
            self._seen = (view, job_view(self._session, view, explain=False))
        return self._seen[1]

    def progress(self) -> Progress | None:
        """Return the progress at the last poll; None for a job that has ended."""
        view = self._seen[0] if self._seen is not None else None
        if view is None or view.job_status.ended:
            return None
        return progress_of(view.folder, view.history, view.tasks)

    def usages(self) -> tuple[Usage, ...]:
        """Return the use of running tasks; none if Slurm does not report it."""
        try:
            return usages_of(self._session, self._seen[0]) if self._seen is not None else ()
        except PaislurmError:
            return ()

    def tail(self, name: str, stream: Stream) -> Tail:
        """Return the last lines of a task."""
        return self._tails.read(self._seen[0], name, stream) if self._seen is not None else Tail(job=self._folder.name)
