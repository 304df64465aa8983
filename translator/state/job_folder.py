"""The job folders under `$PAISLURM_HOME/jobs`: where things are, and which folder a user means."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import field
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ..errors import Diagnostic, NotFoundError
from ..lazy import dataclass
from .history import history
from .journal import SECRETS, append, read, read_last

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .history import History
    from .records import JobRole, Record


@dataclass(frozen=True, kw_only=True)
class JobFolder:
    """Name the places in a job's folder. Source: this project's docs, run folder."""

    path: Path
    inode: int | None = field(default=None, compare=False)
    """That of the journal when it was opened: another job can take the place of one that has ended."""

    def append(self, record: Record) -> None:
        """Add a record to the journal, if it still is this job's; OSError if it cannot be."""
        append(self.journal, record, inode=self.inode)

    @property
    def name(self) -> str:
        """The folder's name: `user~name`, of a job whose name was used again `user~name.1`."""
        return self.path.name

    @property
    def journal(self) -> Path:
        """Where the journal is."""
        return self.path / "journal.jsonl"

    @property
    def secrets(self) -> Path:
        """Where the secrets of the job are, a file each, until it ends."""
        return self.path / SECRETS

    def attempt(self, number: int) -> Path:
        """Return the folder of an attempt."""
        return self.path / "attempts" / str(number)

    def script(self, attempt: int) -> Path:
        """Return where the script of an attempt is."""
        return self.attempt(attempt) / "job.sbatch"

    def batch_log(self, attempt: int) -> Path:
        """Return where the output of an attempt's batch script goes."""
        return self.attempt(attempt) / "slurm.log"

    def claim(self, attempt: int) -> Path:
        """Return where a batch script writes which job runs an attempt."""
        return self.attempt(attempt) / "claim" / "owner"

    def result(self, attempt: int) -> Path:
        """Return where the result of an attempt will be."""
        return self.attempt(attempt) / "result.json"

    def reports(self, attempt: int, role: JobRole) -> Path:
        """Return the folder of what the tasks of a role report."""
        return self.attempt(attempt) / "tasks" / role.folder

    def log(self, attempt: int, role: JobRole, index: int, task_attempt: int, stream: str) -> Path:
        """Return where the output of a task goes; `stream` is stdout, stderr or runtime."""
        retry = f".{task_attempt}" if task_attempt else ""
        return self.attempt(attempt) / "logs" / role.folder / str(index) / f"{stream}{retry}.log"

    def history(self) -> History:
        """Return what the whole journal tells; OSError if it cannot be read."""
        return history(read(self.journal).records)

    def summary(self) -> History:
        """Return what the end of the journal tells."""
        return history(read_last(self.journal).records)


class Store:
    """Find job folders."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.jobs = home / "jobs"

    def folder(self, user: str, name: str) -> JobFolder:
        """Return the folder of a user's job of that name, whether it is there or not."""
        return JobFolder(path=self.jobs / f"{user}~{name}")

    def all(self) -> list[JobFolder]:
        """Return all job folders, by name."""
        try:
            with os.scandir(self.jobs) as entries:
                names = [entry.name for entry in entries if "~" in entry.name and entry.name[0] != "."]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [JobFolder(path=self.jobs / name) for name in sorted(names)]

    def find(self, address: str, *, user: str) -> JobFolder:
        """Return the job that an address means: `user~name`, a name, or the backend's id.

        A name means the user's own job before anybody else's. Raises `NotFoundError` with near names.
        """
        folders = {folder.name: folder for folder in self.all()}
        for name in (address, f"{user}~{address}"):
            if name in folders:
                return folders[name]
        others = [folder for name, folder in folders.items() if name.partition("~")[2] == address]
        if len(others) == 1:
            return others[0]
        found = self.by_id(address.partition("+")[0])
        if found is None:
            raise self._no_such_job(address, [name.removeprefix(f"{user}~") for name in folders])
        return found

    def by_id(self, job_id: str, *, backend: str = "") -> JobFolder | None:
        """Return the newest job of an id: two backends, or one over the years, can give the same."""
        if not job_id.isdecimal():
            return None
        matches = [
            (folder, known)
            for folder, known in self.summaries()
            if known.job_id == job_id and backend in ("", known.backend)
        ]
        newest = max(matches, key=lambda match: (match[1].ended is None, match[1].submitted or 0), default=None)
        return newest[0] if newest else None

    def summaries(self) -> Iterator[tuple[JobFolder, History]]:
        """Yield all jobs with what the end of their journals tells; what is no job folder is passed over."""
        for folder in self.all():
            with suppress(OSError):
                yield folder, folder.summary()

    def _no_such_job(self, address: str, known: list[str]) -> NotFoundError:
        near = " or ".join(f"`{name}`" for name in get_close_matches(address, known, n=3))
        hint = f"did you mean {near}?" if near else "`paislurm list` shows your jobs"
        message = f"there is no job `{address}` in {self.jobs}"
        return NotFoundError(Diagnostic(code="E520", message=message, hint=hint))
