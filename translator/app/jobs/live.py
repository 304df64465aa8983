"""Jobs that are shown live: lines of many, all of one, and the last lines of a log; the backend is polled rarely."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ...errors import BackendError, PaislurmError
from ...monitor.job_files import needs_answer
from ...state.job_folder import JobFolder
from ...state.result import read_stall
from ...terminal_text import escape_control
from ..failed_task import failure_of
from ..job_view import job_view
from ..log_reading import fetch, final_lines, log_end, run_folder_with_logs
from ..task_facts import usages_of
from .job_sites import JobSites
from .listing import lines
from .logs.task_log import has_one_log
from .polling import BY_A_PERSON
from .refresh import refresh
from .reported import progress_of, report_files
from .waiting import TICK, Pace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from ...monitor.facts import View
    from ...state.journal_records import JobRole
    from ...view.jobs import JobView
    from ...view.line import JobLine
    from ...view.task import TaskView, Usage
    from ..session import Session
    from .reported import Progress


MIN_INTERVAL = 2.0
MAX_NOTES = 50
"""Most failed jobs whose logs are read."""


class Poll(NamedTuple):
    """The jobs, those that changed since the last poll, and why a backend did not answer, or ""."""

    found: list[JobLine]
    changed: list[JobLine]
    problem: str

    @property
    def over(self) -> bool:
        """Return whether all jobs have ended."""
        return all(line.ended or not line.readable for line in self.found)


class Note(NamedTuple):
    """What the screen shows before the reason of a job."""

    text: str = ""
    is_stall: bool = False


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
        seen = {line.name: _lasting(line) for line in shown}
        if list(seen.values()) != list(self._seen.values()):
            self._pace = Pace(MIN_INTERVAL, *_watched_paths(self._session, shown))
            self._pace.due(now)
        changed = [line for line in shown if seen[line.name] != self._seen.get(line.name)]
        self._seen = seen
        return Poll(shown, changed, "; ".join(found.problems))

    def notes(self, lines: Iterable[JobLine]) -> dict[str, Note]:
        """Return notes by the name of a job: the stall of a running one, the last words of one that failed."""
        return {line.name: note for line in lines if (note := self._note(line)).text}

    def _note(self, line: JobLine) -> Note:
        """Return the stall of a running job, the last words of a failed one, no text for others."""
        if line.state == "FAILED" and line.ended and line.readable:
            if line.name not in self._last_words and len(self._last_words) < MAX_NOTES:
                view = refresh(self._session, JobFolder(path=Path(line.folder)))
                failure = failure_of(self._session, view, locates=False)
                self._last_words[line.name] = (failure.last_words or "") if failure else ""
            return Note(self._last_words.get(line.name, ""))
        stall = None if line.ended else read_stall(JobFolder(path=Path(line.folder)).stall(line.attempt))
        return Note(f"stalled: {stall.reason}", is_stall=True) if stall else Note()


def watch(session: Session, names: Collection[str] = (), *, once: bool = False) -> Iterator[JobLine]:
    """Yield the state of each job, then each change until all jobs have ended; with `once`, yield no changes.

    A job that stalls changes, and its reason is the stall. Default for `names`: all jobs that have not ended. Outages
    of a backend are events.
    """
    jobs, reported = JobLines(session, names), ""
    stalls: dict[str, str] = {}
    while True:
        poll = jobs.poll(time.monotonic())
        if poll is not None:
            if poll.problem and poll.problem != reported:
                session.say(f"these are the last known states; a backend does not answer: {poll.problem}")
            reported = poll.problem
            notes = jobs.notes(line for line in poll.found if not line.ended)
            found = {name: note.text for name, note in notes.items() if note.is_stall}
            for line in poll.found:
                if line in poll.changed or found.get(line.name) != stalls.get(line.name):
                    yield replace(line, reason=found.get(line.name, line.reason))
            stalls = found
            if once or poll.over:
                return
        time.sleep(TICK)


def _lasting(line: JobLine) -> JobLine:
    """Return a line without values that change while the state stays the same."""
    return replace(line, expected_start_at=None, waits_began_at=None, time_limit=None)


def _watched_paths(session: Session, found: Sequence[JobLine]) -> Iterator[Path]:
    """Yield the files that change on an event of a job."""
    yield session.store.jobs
    for line in found:
        folder = JobFolder(path=Path(line.folder))
        yield folder.journal
        yield folder.result(line.attempt)


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
        last = self._seen
        if last is not None:
            soon = needs_answer(last[0]) or (fresh and last[1].state == "WAITING")
            self._max_age = min(BY_A_PERSON, self._later) if soon else self._later
        view = refresh(self._session, self._folder, max_age=self._max_age)
        self._later = self._sites.of(view.history).poll_interval
        folder, attempt = view.folder, view.history.attempt
        if last is None or replace(view, now=last[0].now) != last[0]:
            paths = (folder.journal, folder.result(attempt), *report_files(folder, attempt))
            self._pace = Pace(MIN_INTERVAL, *paths)
            self._pace.due(now)
            self._seen = last = (view, job_view(self._session, view, explain=False))
        return last[1]

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


MAX_BYTES, MAX_LINES = 1 << 18, 2000
FETCH_SECONDS = 5.0
"""The least seconds between two copies of a log from a login node."""
Stream = Literal["", "stdout", "stderr"]
"""The stream of a task that is shown; "": standard error of a failed task if not empty, else standard output."""


class Tail(Struct, frozen=True, kw_only=True):
    """The last lines of a task's log."""

    job: str = ""
    task: str = ""
    stream: str = "stdout"
    lines: tuple[str, ...] = ()


class Tails:
    """The last lines of one task of a job at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stamp: tuple[object, ...] = ()
        self._last = Tail()
        self._fetched, self._fetch_at = "", 0.0

    def read(self, view: View, name: str, stream: Stream) -> Tail:
        """Return the last lines of a task; the same object as before without new lines."""
        task = next((task for task in view.tasks if task.name == name), None)
        if task is None:
            return Tail(job=view.folder.name)
        role = next(role for role in view.history.roles if role.name == task.role)
        self._bring(view, role, task.index)
        found, path = _log_of(view, role, task, stream)
        size, written = _size_and_time(path)
        stamp = (name, found, path, size, written)
        if stamp != self._stamp:
            self._last = _tail(view, task, found, path)
            self._stamp = stamp
        return self._last

    def _bring(self, view: View, role: JobRole, index: int) -> None:
        """Copy a task's log from a login node, at once after a change of task; on an error, the next call retries."""
        name = f"{view.history.attempt} {role.name} {index}"
        if name == self._fetched and time.monotonic() < self._fetch_at:
            return
        with suppress(BackendError):
            fetch(self._session, view.history, run_folder_with_logs(view.folder, view.history, [(role, index)]))
        self._fetched, self._fetch_at = name, time.monotonic() + FETCH_SECONDS


def _log_of(view: View, role: JobRole, task: TaskView, stream: Stream) -> tuple[str, Path]:
    """Return a log of a task. Without a chosen stream: standard error of a failed task if not empty."""
    attempt = view.history.attempt

    def path(name: str) -> Path:
        return view.folder.log(attempt, role, task.index, task.task_attempt, name)

    if not stream and task.state == "FAILED" and _size_and_time(path("stderr"))[0]:
        return "stderr", path("stderr")
    if stream == "stderr" and not path("stderr").exists() and has_one_log(view.folder, attempt):
        return "stderr", path("stdout")
    return stream or "stdout", path(stream or "stdout")


def _tail(view: View, task: TaskView, stream: str, path: Path) -> Tail:
    data, _ = log_end(path, MAX_BYTES, view.folder.path.stat().st_uid)
    return Tail(job=view.folder.name, task=task.name, stream=stream, lines=shown_lines(data)[-MAX_LINES:])


def shown_lines(data: bytes) -> tuple[str, ...]:
    """Return the lines of a log as the screen shows them, escaped."""
    return tuple(escape_control(line.expandtabs()) for line in final_lines(data, "backslashreplace"))


def _size_and_time(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns
