"""Rehearse the failures of a job: submit it, break it, and see what its second attempt does."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from paislurm.backends.base import LOCAL
from paislurm.backends.registry import is_remote

from ...errors import Diagnostic, PaislurmError, UsageError
from ...files.private import make_private, remove_tree
from ...state.result import read_result
from ..job_view import job_stall
from ..jobs.cancelling import cancel_jobs
from ..jobs.refresh import refresh
from ..log_reading import open_log
from ..submit.new_folder import place_for
from ..submit.prepare import prepare
from ..submit.submitting import take
from .provoking import TEXTS, policy_text, provoke, remark, why_not
from .resuming import (
    Rehearsal,
    Rehearsals,
    Resuming,
    check_resumes,
    judge_files,
    judge_tasks,
    link_entries,
    progress,
    text_order_shows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...monitor.facts import View
    from ..input.source import Source
    from ..session import Session
    from ..submit.new_folder import Place
    from ..submit.prepare import Prepared
    from .provoking import Fault

Found = TypeVar("Found")
TICK = 0.2
ENOUGH = 4
"""The number of checkpoints, and of lines of progress, after which a job is broken: one that continues from its oldest
checkpoint differs from one that continues from its last."""
LATER = "; the names of its checkpoints could be sorted as text: a job that ran longer would show it (step9, step10)"
LOCAL_PATIENCE, SLURM_PATIENCE = 120, 600
"""The default seconds for each step. With Slurm, both attempts may wait in the queue."""
MAX_LOG = 1 << 20
FOLDER = "rehearsals"


def rehearse(
    session: Session,
    source: Source,
    faults: Sequence[Fault],
    patience: float | None,
) -> Rehearsals:
    """Run a job once for each fault (none: for all), and break its first attempt after a few checkpoints.

    Each job gets a home of its own, and an empty submit folder with links to the entries of the current one, except the
    checkpoints; both are removed afterwards. Wait at most `patience` seconds for each step. Raises UsageError if the
    job does not say how it resumes, and for a login node: the checkpoints are read from here.
    """
    if patience is None:
        patience = LOCAL_PATIENCE if source.backend == LOCAL else SLURM_PATIENCE
    return Rehearsals(rehearsals=tuple(_rehearsed(session, source, fault, patience) for fault in faults or TEXTS))


def _rehearsed(session: Session, source: Source, fault: Fault, patience: float) -> Rehearsal:
    above = Path(session.store.home, FOLDER)
    make_private(above)
    place = Path(mkdtemp(prefix=f"{fault}-", dir=above))
    here = place / "work"
    make_private(here)
    own = session.at_home(place / "home")
    try:
        source = replace(source, suffix=f"{source.suffix}-rehearse-{fault}", submit_folder=str(here))
        (prepared,) = prepare(own, [source], keep=True)
        if is_remote(prepared.source.backend):
            message = "a job cannot be rehearsed through a login node: its checkpoints are read here"
            raise UsageError(Diagnostic(code="E547", message=message, hint="run this on the login node"))
        options = prepared.compiled.job.slurm_options
        check_resumes(options)
        free = place_for(own, prepared.name)
        job = _Job(own, prepared, free, here, patience)
        if reason := why_not(fault, prepared.compiled, patience):
            return job.result(fault, None, job.not_tried(fault, reason))
        link_entries(Path.cwd(), here, options.checkpoints)
        # Without `leave_behind`: a monitor in the background polls more rarely than this command.
        take(own, prepared, free)
        try:
            return job.rehearsal(fault)
        finally:
            cancel_jobs(own, [job.folder])
            job.wait()
    finally:
        remove_tree(place)


class _Job:
    """A job in rehearsal. `_files` are the checkpoints of the first attempt, with their times."""

    def __init__(self, session: Session, prepared: Prepared, place: Place, here: Path, patience: float) -> None:
        self._session, self._compiled, self._here = session, prepared.compiled, here
        self.folder = place.folder
        self._options = options = prepared.compiled.job.slurm_options
        self._backend = prepared.source.backend
        self._patience, self._max_age = patience, 1.0 if self._backend == LOCAL else 5.0
        self._pattern = re.compile(options.progress_pattern) if options.progress_pattern else None
        self._files: dict[str, int] = {}
        self._saved: dict[tuple[str, int], None] = {}
        self._has_enough = False
        self._progress_saved: list[float] = []

    def rehearsal(self, fault: Fault) -> Rehearsal:
        """Break the first attempt, and judge the second."""
        enough = f"{ENOUGH} checkpoints and lines of progress"
        self._say(f"waits for {enough}, or more if their names are numbers")
        is_ready = self._until(self._has_progress)
        if not is_ready and not (is_ready is None and self._has_enough):
            early = f"the first attempt ended before {enough}: make the job longer"
            short = Resuming(verdict="unknown", shown_by=early)
            return self.result(fault, None, short if is_ready is False else self._unknown(f"no {enough}"))
        self._say(f"{TEXTS[fault]}; waits for the second attempt")
        try:
            reason = provoke(self._session, self._compiled, self._refreshed(), fault)
        except PaislurmError as error:
            reason = error.diagnostics[0].message
        if reason:
            return self.result(fault, None, self.not_tried(fault, reason))
        view = self._until(self._after_first)
        if view is None:
            return self.result(fault, view, self._unknown("no second attempt"))
        if not view.history.retries:
            stall = job_stall(view)
            shown_by = f"the stall guard only reports: {stall.reason}" if stall else self._policy(fault)
            return self.result(fault, view, Resuming(verdict="not retried", shown_by=shown_by))
        self._say("waits for what the second attempt prints and saves")
        found = self._until(self._judged) or self._unknown("nothing that shows it")
        if found.verdict == "continued" and not is_ready:
            found = replace(found, shown_by=f"{found.shown_by}{LATER}")
        return self.result(fault, view, found)

    def _say(self, text: str) -> None:
        self._session.say(f"{self.folder.name}: {text}, {self._patience:g} s at most")

    def wait(self) -> None:
        """Wait for the end of the job."""
        self._until(lambda: self._refreshed().job_status.ended or None)

    def result(self, fault: Fault, view: View | None, resuming: Resuming) -> Rehearsal:
        """Return the result of a fault; `view` is the job after its first attempt, None if that is not known."""
        retry = next(iter(view.history.retries), None) if view else None
        is_tried = resuming.verdict != "not tried"
        return Rehearsal(
            fault=fault,
            first_end=(retry.reason if retry else view.job_status.reason or None) if view else None,
            retry_rule=retry.retry_rule if retry else None,
            resuming=resuming,
            remark=remark(self._session, self._compiled, fault, self._backend) if is_tried else None,
        )

    def not_tried(self, fault: Fault, reason: str) -> Resuming:
        """Return the verdict about a fault that the job cannot have here."""
        return Resuming(verdict="not tried", shown_by=f"{reason}; {self._policy(fault)}")

    def _policy(self, fault: Fault) -> str:
        return policy_text(self._session, self._compiled, fault)

    def _unknown(self, missing: str) -> Resuming:
        return Resuming(verdict="unknown", shown_by=f"{missing} within {self._patience:g} s")

    def _refreshed(self) -> View:
        return refresh(self._session, self.folder, max_age=self._max_age)

    def _until(self, found: Callable[[], Found | None]) -> Found | None:
        """Return what a function finds, None if it finds nothing in time."""
        deadline = time.monotonic() + self._patience
        while time.monotonic() < deadline:
            if (result := found()) is not None:
                return result
            time.sleep(TICK * self._max_age)
        return None

    def _has_progress(self) -> bool | None:
        """Return True when there is something from which to continue, False if the attempt has ended before."""
        self._note_files()
        saved, lines = len(self._saved), ENOUGH
        if self._pattern is not None and self._pattern.groups:
            saved, lines = len(self._progress_saved), len(progress(self._pattern, self._lead(0)))
        if lines >= ENOUGH and (saved >= ENOUGH or not self._options.checkpoints):
            self._has_enough = True
            if text_order_shows([name for name, _ in self._saved]):
                return True
        view = self._refreshed()
        return False if view.job_status.ended or view.history.attempt else None

    def _after_first(self) -> View | None:
        """Return the job when its second attempt has begun, when it has ended without one, or stalls."""
        self._note_files()
        view = self._refreshed()
        if view.job_status.ended or self._second_began() is not None:
            return view
        guard = self._compiled.plan.roles[0].progress
        return view if guard is not None and guard.action == "report" and job_stall(view) else None

    def _judged(self) -> Resuming | None:
        began = self._second_began() or 0
        now = self._checkpoints()
        first = self._files | {name: at for name, at in now.items() if at < began}
        by_files = judge_files(first, now) if first else None
        has_ended = self.folder.result(1).exists()
        found = by_files
        if self._pattern is not None:
            found = judge_tasks(self._pattern, self._lines(0), self._lines(1), self._progress_saved, ended=has_ended)
            if found is None and by_files is not None and not self._pattern.groups:
                return Resuming(verdict="began again", shown_by="it saved, and no line matches `resumes.log`")
        if found is None and has_ended:
            read = read_result(self.folder.result(1))
            reason = f": {read.reason}" if read is not None and read.reason else ""
            return Resuming(verdict="unknown", shown_by=f"the second attempt ended before anything showed it{reason}")
        return found

    def _second_began(self) -> int | None:
        """Return when the second attempt began, in nanoseconds; None before."""
        with suppress(OSError):
            return self.folder.claim(1).stat().st_mtime_ns
        return None

    def _note_files(self) -> None:
        found = self._checkpoints()
        if self._second_began() is not None:
            return
        self._files |= found
        new = sorted((entry for entry in found.items() if entry not in self._saved), key=lambda entry: entry[1])
        self._saved |= dict.fromkeys(new)
        if new and self._pattern is not None and self._pattern.groups:
            self._progress_saved += progress(self._pattern, self._lead(0))[-1:]

    def _checkpoints(self) -> dict[str, int]:
        found = {}
        pattern = self._options.checkpoints.removeprefix("./")
        for path in self._here.glob(pattern) if pattern else ():
            with suppress(OSError):
                found[str(path.relative_to(self._here))] = path.stat().st_mtime_ns
        return found

    def _lead(self, attempt: int) -> list[str]:
        """Return the output of the first task that prints a match; [] without one."""
        matches = (lines for lines in self._lines(attempt).values() if self._pattern and self._matches(lines))
        return next(matches, [])

    def _lines(self, attempt: int) -> dict[str, list[str]]:
        """Return the output of each task by its name: the log with a match, else all of it."""
        found: dict[str, list[str]] = {}
        for role in self.folder.history().roles:
            for log in sorted(self.folder.logs(attempt, role).glob("*.std*.log")):
                task = f"{role.name}-{log.name.partition('.')[0]}"
                with suppress(OSError):
                    with os.fdopen(open_log(log, self.folder.path.stat().st_uid), "rb") as file:
                        lines = file.read(MAX_LOG).decode(errors="replace").splitlines()
                    before = found.get(task, [])
                    if not self._matches(before):
                        found[task] = lines if self._matches(lines) else before + lines
        return found

    def _matches(self, lines: Sequence[str]) -> bool:
        return self._pattern is not None and any(map(self._pattern.search, lines))
