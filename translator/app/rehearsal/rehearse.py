"""Rehearse the failures of a job on this machine: submit it, break it, and see what its second attempt does."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from paislurm.backends.base import LOCAL
from paislurm.backends.local.faults import Fault, provoke

from ...errors import Diagnostic, UsageError
from ..jobs.cancelling import cancel_jobs
from ..jobs.refresh import refresh
from ..results.tail import open_log
from ..submit.prepare import prepare
from ..submit.replace_job import finished_in
from ..submit.submit import take
from .faults import TEXTS
from .resuming import Resuming, judge_files, judge_log, progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...monitor.poll import View
    from ...slurm_options import SlurmOptions
    from ...state.job_folder import JobFolder
    from ..input.source import Source
    from ..session import Session

Found = TypeVar("Found")
TICK = 0.2
ENOUGH = 4
"""The number of checkpoints, and of lines of progress, after which a job is broken: one that continues from its oldest
checkpoint differs from one that continues from its last."""
POLL_SECONDS = 1.0
MAX_LOG = 1 << 20
FOLDER = "rehearsals"


class Rehearsal(Struct, frozen=True, kw_only=True):
    """What one fault did to a job."""

    fault: Fault
    """`term`, `kill` or `node`."""
    name: str
    """The name of the job's folder, `user~job`."""
    first_end: str | None
    """How the first attempt ended; None if nothing could be broken."""
    retry_rule: str | None
    """Why there was a second attempt; None without one."""
    resuming: Resuming
    """Whether the second attempt continued."""


class Rehearsals(Struct, frozen=True, kw_only=True):
    """The rehearsals of a job."""

    rehearsals: tuple[Rehearsal, ...]
    """One for each fault."""

    @property
    def all_continued(self) -> bool:
        """Whether each second attempt continued."""
        return all(each.resuming.verdict == "continued" for each in self.rehearsals)


def rehearse(session: Session, source: Source, faults: Sequence[Fault], patience: float) -> Rehearsals:
    """Run a job once for each fault, and break its first attempt after a few checkpoints.

    Each job gets an empty submit folder with links to the entries of the current one, except the checkpoints. Wait at
    most `patience` seconds for each step. Raises UsageError if the job does not say how it resumes.
    """
    return Rehearsals(rehearsals=tuple(_rehearsed(session, source, fault, patience) for fault in faults))


def _rehearsed(session: Session, source: Source, fault: Fault, patience: float) -> Rehearsal:
    here = Path(session.store.home, FOLDER, f"{fault}-{time.time_ns()}").absolute()
    here.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    here.mkdir(mode=0o700)
    source = replace(source, backend=LOCAL, suffix=f"{source.suffix}-rehearse-{fault}", submit_folder=str(here))
    (prepared,) = prepare(session, [source], keep=True)
    options = prepared.compiled.job.slurm_options
    _check(options)
    _link(Path.cwd(), here, options.checkpoints)
    # Without `leave_behind`: a monitor in the background polls more rarely than this command.
    take(session, prepared, [finished_in(session, prepared.folder)])
    job = _Job(session, prepared.folder, options, here, patience)
    try:
        return job.rehearsal(fault)
    finally:
        cancel_jobs(session, [job.folder])
        job.wait()
        rmtree(here, ignore_errors=True)


def _check(options: SlurmOptions) -> None:
    """Refuse a job that does not say how it resumes, or whose checkpoints are those of real runs."""
    if options.checkpoints.startswith("/"):
        message = f"the checkpoints {options.checkpoints} may be those of real runs: a rehearsal would overwrite them"
        hint = "name them by `./` and a path below the submit folder: each rehearsal has a folder of its own"
        raise UsageError([Diagnostic(code="E547", message=message, path="$.extras.slurm.resumes.file", hint=hint)])
    if not options.checkpoints and not _has_numbers(options):
        message = "the job does not say how it continues after a failure"
        hint = 'add `extras: {slurm: {resumes: {file: "./run/*.pt", log: "step ([0-9]+)"}}}`'
        raise UsageError([Diagnostic(code="E547", message=message, path="$.extras.slurm.resumes", hint=hint)])


def _has_numbers(options: SlurmOptions) -> bool:
    return bool(options.progress_pattern) and re.compile(options.progress_pattern).groups > 0


def _link(current: Path, here: Path, checkpoints: str) -> None:
    """Link the entries of the submit folder, except those in which the checkpoints are."""
    first = checkpoints.removeprefix("./").partition("/")[0]
    for entry in current.iterdir():
        if not (first and fnmatch(entry.name, first)):
            (here / entry.name).symlink_to(entry)


class _Job:
    """A job in rehearsal. `_files` are the checkpoints of the first attempt, with their times."""

    def __init__(self, session: Session, folder: JobFolder, options: SlurmOptions, here: Path, patience: float) -> None:
        self._session, self.folder, self._options, self._here = session, folder, options, here
        self._patience = patience
        self._pattern = re.compile(options.progress_pattern) if options.progress_pattern else None
        self._files: dict[str, int] = {}
        self._saved: set[tuple[str, int]] = set()
        self._progress_saved: list[float] = []

    def rehearsal(self, fault: Fault) -> Rehearsal:
        """Break the first attempt, and judge the second."""
        if not self._until(self._has_progress):
            return self._result(fault, None, f"no {ENOUGH} checkpoints and lines of progress")
        self._session.say(f"{self.folder.name}: {TEXTS[fault]}")
        provoke(fault, self._session.store.home.absolute() / LOCAL / self.folder.history().job_id)
        view = self._until(self._after_first)
        if view is None or not view.history.retries:
            return self._result(fault, view, "no second attempt")
        return self._result(fault, view, "nothing that shows it", self._until(self._judged))

    def wait(self) -> None:
        """Wait for the end of the job."""
        self._until(lambda: refresh(self._session, self.folder, max_age=POLL_SECONDS).job_status.ended or None)

    def _result(self, fault: Fault, view: View | None, missing: str, found: Resuming | None = None) -> Rehearsal:
        retry = next(iter(view.history.retries), None) if view else None
        return Rehearsal(
            fault=fault,
            name=self.folder.name,
            first_end=(retry.reason if retry else view.job_status.reason) if view else None,
            retry_rule=retry.retry_rule if retry else None,
            resuming=found or Resuming(verdict="unknown", shown_by=f"{missing} within {self._patience:g} s"),
        )

    def _until(self, found: Callable[[], Found | None]) -> Found | None:
        """Return what a function finds, None if it finds nothing in time."""
        deadline = time.monotonic() + self._patience
        while time.monotonic() < deadline:
            if (result := found()) is not None:
                return result
            time.sleep(TICK)
        return None

    def _has_progress(self) -> bool | None:
        """Return True when there is something from which to continue, False if the attempt has ended before."""
        self._note_files()
        if self._pattern is not None and self._pattern.groups and len(progress(self._pattern, self._lines(0))) < ENOUGH:
            return None
        has_numbers = self._pattern is not None and self._pattern.groups
        saved = self._progress_saved if has_numbers else self._saved
        if len(saved) >= ENOUGH or not self._options.checkpoints:
            return True
        return False if self.folder.result(0).exists() else None

    def _after_first(self) -> View | None:
        """Return the job when its second attempt has begun, or it has ended without one."""
        self._note_files()
        view = refresh(self._session, self.folder, max_age=POLL_SECONDS)
        return view if view.job_status.ended or self._second_began() is not None else None

    def _judged(self) -> Resuming | None:
        began = self._second_began() or 0
        first = {name: at for name, at in self._files.items() if at < began}
        second = {name: at for name, at in self._checkpoints().items() if at >= began or name in first}
        by_files = judge_files(first, second) if first else None
        if self._pattern is None:
            return by_files
        by_log = judge_log(self._pattern, self._lines(0), self._lines(1), self._progress_saved)
        if by_log is None and by_files is not None and not self._pattern.groups:
            return Resuming(verdict="began again", shown_by="it saved, and no line matches `resumes.log`")
        return by_log

    def _second_began(self) -> int | None:
        """Return when the second attempt began, in nanoseconds; None before."""
        with suppress(OSError):
            return self.folder.claim(1).stat().st_mtime_ns
        return None

    def _note_files(self) -> None:
        found = self._checkpoints()
        self._files |= found
        new = set(found.items()) - self._saved
        self._saved |= new
        if new and self._pattern is not None and self._pattern.groups and self._second_began() is None:
            self._progress_saved += progress(self._pattern, self._lines(0))[-1:]

    def _checkpoints(self) -> dict[str, int]:
        found = {}
        pattern = self._options.checkpoints.removeprefix("./")
        for path in self._here.glob(pattern) if pattern else ():
            with suppress(OSError):
                found[str(path.relative_to(self._here))] = path.stat().st_mtime_ns
        return found

    def _lines(self, attempt: int) -> list[str]:
        """Return the output of the first task that prints a match, else of all tasks."""
        every: list[str] = []
        for role in self.folder.history().roles:
            for log in sorted(self.folder.logs(attempt, role).glob("*.std*.log")):
                try:
                    with os.fdopen(open_log(log, self.folder.path.stat().st_uid), "rb") as file:
                        lines = file.read(MAX_LOG).decode(errors="replace").splitlines()
                except OSError:
                    continue
                if self._pattern is not None and any(map(self._pattern.search, lines)):
                    return lines
                every += lines
        return every
