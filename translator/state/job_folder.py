"""The job folders under `$PAISLURM_HOME/jobs`: paths in them, and the search for a user's job."""

from __future__ import annotations

import errno
import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from ..errors import Diagnostic, NotFoundError, nearest
from ..files.names import (
    ATTEMPTS,
    BATCH_LOG,
    CLAIM,
    ENVIRONMENT,
    JOURNAL,
    LOGS,
    LOST_NODES,
    MORE_MEMORY,
    OWNER,
    REPORTS,
    RESULT,
    SCRIPT,
    SECRETS,
    STALL,
)
from ..files.open_folder import open_folder
from ..files.private import set_time
from .address import Address, newest, numbers, parse
from .ended_jobs import EndedJobs, stamp_of
from .history import History, history
from .journal import append, read, read_first, read_last
from .journal_records import Ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from .ended_jobs import Stamp
    from .journal_records import Created, JobRole, Record


class JobFolder(Struct, frozen=True, kw_only=True):
    """Hold the paths in a job's folder. Source: this project's docs, run folder."""

    path: Path

    def append(self, record: Record) -> None:
        """Append a record to the journal. Raises OSError.

        Before the record of the end, remove what only later attempts need.
        """
        if isinstance(record, Ended):
            self.forget_secrets()
        append(self.journal, record)

    def forget_secrets(self) -> None:
        """Remove the secrets and the submit environment as far as possible."""
        with suppress(OSError), open_folder(self.path) as opened:
            opened.drop(ENVIRONMENT)
            with opened.folder(SECRETS) as secrets:
                for name in secrets.names():
                    secrets.drop(name)
            opened.drop_folder(SECRETS)

    @property
    def name(self) -> str:
        """The folder's name: `user~name`, or `user~name@2` for the second job of the name."""
        return self.path.name

    @property
    def journal(self) -> Path:
        return self.path / JOURNAL

    @property
    def secrets(self) -> Path:
        """The folder of the job's secrets, one file each, removed when the job ends."""
        return self.path / SECRETS

    def attempt(self, number: int) -> Path:
        return self.path / ATTEMPTS / str(number)

    def wake_monitor(self, attempt: int) -> None:
        """Change the time of an attempt's folder, for which a monitor looks. Ignore errors: it looks later, too."""
        with suppress(OSError):
            set_time(self.attempt(attempt))

    def script(self, attempt: int) -> Path:
        return self.attempt(attempt) / SCRIPT

    def script_with_memory(self, step: int) -> Path:
        """Return the path of the script for attempts after so many lacks of memory."""
        return self.path / MORE_MEMORY / f"{step}.sbatch"

    def batch_log(self, attempt: int) -> Path:
        """Return the path of the batch script's output."""
        return self.attempt(attempt) / BATCH_LOG

    def claim(self, attempt: int) -> Path:
        """Return the path of the claim, which holds the id of the job that runs an attempt."""
        return self.attempt(attempt) / CLAIM / OWNER

    def take_claim(self, attempt: int, settled: int) -> bool:
        """Claim an attempt for no job, so that none can run it any more. Return False if a job has the claim.

        A claim without an owner is no job's after `settled` seconds. Raises OSError if the folder cannot be written.
        """
        with (
            open_folder(self.path) as opened,
            opened.folder(ATTEMPTS) as attempts,
            attempts.folder(str(attempt)) as own,
        ):
            own.make_folder(CLAIM)
            with own.folder(CLAIM) as claim:
                if claim.create(OWNER):
                    return True
                owner = claim.status(OWNER)
                return owner is not None and not owner.st_size and time.time() - owner.st_mtime > settled

    def is_here(self) -> bool:
        """Return whether the job has not been removed."""
        with suppress(OSError), open_folder(self.path) as opened:
            return opened.status(JOURNAL) is not None
        return False

    def is_written(self) -> bool:
        """Return whether its submit has written the first script, the last file of a job that waits with secrets.

        Folders are listed, because a client of a file server may keep a missing name for a while. Raises OSError.
        """
        path = self.path
        for name in (ATTEMPTS, "0", SCRIPT):
            if name not in os.listdir(path):  # noqa: PTH208 - as elsewhere
                return False
            path /= name
        return True

    def result(self, attempt: int) -> Path:
        return self.attempt(attempt) / RESULT

    def stall(self, attempt: int) -> Path:
        return self.attempt(attempt) / STALL

    def lost_nodes(self, attempt: int) -> Path:
        return self.attempt(attempt) / LOST_NODES

    def reports(self, attempt: int) -> Path:
        """Return the folder of task reports, one file per node."""
        return self.attempt(attempt) / REPORTS

    def scripts(self, attempt: int, role: JobRole) -> Path:
        """Return the folder of the script reports of a role's tasks, one file per task."""
        return self.reports(attempt) / role.folder

    def log(self, attempt: int, role: JobRole, index: int, task_attempt: int, stream: str) -> Path:
        """Return the path of a task's log; `stream` is stdout, stderr or runtime."""
        retry = f".{task_attempt}" if task_attempt else ""
        return self.logs(attempt, role) / f"{index}.{stream}{retry}.log"

    def logs(self, attempt: int, role: JobRole) -> Path:
        """Return the folder of the logs of a role's tasks."""
        return self.attempt(attempt) / LOGS / role.folder

    def own_journal(self) -> Path:
        """Return the journal's path. Raises OSError for a link: what is behind it is not followed."""
        for path in (self.path, self.journal):
            if path.is_symlink():
                raise OSError(errno.ELOOP, "it is a symbolic link, which is not followed", str(path))
        return self.journal

    def history(self) -> History:
        """Return the history from the whole journal. Raises OSError if it cannot be read."""
        return history(read(self.own_journal()).records)

    def created(self) -> Created | None:
        """Return the first record of the journal, None if it is damaged. Raises OSError like `history`."""
        return read_first(self.own_journal())

    def summary(self) -> History:
        """Return the history from the end of the journal."""
        return history(read_last(self.own_journal()).records)


class Living(NamedTuple):
    """A job without a cached end: its folder, the stamp of its journal, and the cache for its end."""

    folder: JobFolder
    stamp: Stamp | None
    kept: EndedJobs

    def read(self, *, whole: bool = False) -> History:
        """Return the history from the `whole` journal or its end. Raises OSError if it cannot be read."""
        known = self.folder.history() if whole else self.folder.summary()
        self.kept.add(self.folder.name, self.stamp, known)
        return known


class Store:
    def __init__(self, home: Path, ended: EndedJobs | None = None) -> None:
        self.home = home
        self.jobs = home / "jobs"
        self.ended = ended or EndedJobs(lambda: home / "monitor")

    def newest_and_free(self, name: str) -> tuple[JobFolder | None, JobFolder]:
        """Return the folder of the newest job of a name (`user~job`), None without one, and that of the next job."""
        last, removed = numbers(self.jobs, name)
        found = JobFolder(path=self.jobs / str(Address(name, last))) if last else None
        return found, JobFolder(path=self.jobs / str(Address(name, max(last, removed) + 1)))

    def names(self) -> list[str]:
        """Return the names of all job folders, sorted."""
        try:
            return sorted(name for name in os.listdir(self.jobs) if "~" in name and name[0] != ".")  # noqa: PTH208
        except (FileNotFoundError, NotADirectoryError):
            return []

    def all(self) -> list[JobFolder]:
        """Return all job folders, by name."""
        return [JobFolder(path=self.jobs / name) for name in self.names()]

    def entries(self) -> Iterator[tuple[str, History | Living]]:
        """Yield the name of each job folder, with its cached outcome or the means to read its journal.

        The cache is written after the last job.
        """
        names, jobs = self.names(), str(self.jobs)
        for name in names:
            journal = f"{jobs}/{name}/{JOURNAL}"
            stamp = stamp_of(journal)
            ended = self.ended.get(name, stamp, journal)
            yield name, ended or Living(JobFolder(path=self.jobs / name), stamp, self.ended)
        self.ended.keep(set(names))

    def members(self, user: str, group: str) -> Iterator[tuple[str, History]]:
        """Yield the names and histories of the jobs of a user's group; an ended job has what its cached end has."""
        for name, job in self.entries():
            if name.startswith(f"{user}~"):
                with suppress(OSError):
                    known = job.read(whole=True) if isinstance(job, Living) else job
                    if known.group == group:
                        yield name, known

    def find(self, address: str, *, user: str, groups: Callable[[], Sequence[str]] = tuple) -> JobFolder:
        """Return the job for an address: a folder's name, a job's name, a name with a number, or the backend's id.

        An id may be that of a component or a step. The name of a folder is always that job; any other name is the
        newest job of the name, and `name@1` the first. The user's own job has precedence for a name. Raises
        `NotFoundError` with similar names, also of `groups`.
        """
        names, own = self.names(), f"{user}~{address}"
        folders, jobs = {name: name for name in names}, newest(names)
        others = {folder for name, folder in (folders | jobs).items() if name.partition("~")[2] == address}
        found = (
            folders.get(str(parse(address)))
            or jobs.get(address)
            or jobs.get(own)
            or folders.get(str(parse(own)))
            or (others.pop() if len(others) == 1 else None)
        )
        if found is not None:
            return JobFolder(path=self.jobs / found)
        by_id = self.by_id(re.split(r"[+.]", address)[0])
        if by_id is None:
            raise self._no_such_job(address, [name.removeprefix(f"{user}~") for name in names], groups())
        return by_id

    def by_id(self, job_id: str, *, backend: str = "") -> JobFolder | None:
        """Return the newest job with an id: backends, or one backend over the years, may reuse ids."""
        if not job_id.partition(";")[0].isdecimal():
            return None
        matches: list[tuple[bool, int, str]] = []
        for name, job in self.entries():
            # Skip folders without a readable journal.
            with suppress(OSError):
                known = job.read() if isinstance(job, Living) else job
                if job_id in (known.job_id, known.job_id.partition(";")[0]) and backend in ("", known.backend):
                    lives = known.ended is None
                    matches.append((lives, known.submitted or 0, name))
        newest = max(matches, key=lambda match: match[:2], default=None)
        return JobFolder(path=self.jobs / newest[2]) if newest else None

    def _no_such_job(self, address: str, known: list[str], groups: Sequence[str]) -> NotFoundError:
        from difflib import get_close_matches

        near = [f"`{name}`" for name in get_close_matches(address, known, n=3)]
        if group := nearest(address, groups):
            near.append(f"the group `{group}`")
        hint = f"did you mean {' or '.join(near)}?" if near else "`paislurm list` shows your jobs"
        message = f"no job `{address}` exists in {self.jobs}"
        return NotFoundError(Diagnostic(code="E520", message=message, hint=hint))
