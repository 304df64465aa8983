"""The result of a submission, and the dependencies of a job on others (`--after`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ...errors import Diagnostic, FolderError, UsageError
from ...pipeline import Compiled
from ...state.job_folder import JobFolder
from ...state.journal_records import Dependency
from ...view.failure import JobFailure
from ...view.jobs import JobView
from ...view.line import JobLine
from ...view.parts import JobDependency
from ..jobs.refresh import is_own, refresh
from ..jobs.selecting import select

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...monitor.facts import View
    from ..session import Session


MonitorKind = Literal["background", "commands", "none"]


class SubmittedJob(Struct, frozen=True, kw_only=True):
    """A submitted job."""

    job: str
    """The job's name, without the user's."""
    user: str
    """The user who owns the job."""
    name: str
    """The name of the job's folder, `user~job`."""
    backend: str
    """`slurm`, `pyslurm`, `local`, or `ssh:` and a login node."""
    job_id: str | None
    """The id of the Slurm job; None for a dry run, and for a job that waits for others."""
    attempt: int
    """The number of the attempt, 0."""
    folder: str
    """The path of the job's folder."""
    script_file: str
    """The path of the batch script."""
    task_count: int
    """The number of tasks."""
    monitor: MonitorKind
    """The monitor of the job: a process, commands that show the job and cron, or the ends of attempts and cron."""
    dry_run: bool
    """Whether nothing was submitted."""
    dependencies: tuple[JobDependency, ...]
    """The dependencies of the job."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings about the job file."""


class EndedSubmission(JobLine, frozen=True, kw_only=True):
    """A submitted job, and how it ended."""

    script_file: str
    """The path of the batch script."""
    monitor: MonitorKind
    """The monitor of the job: a process, commands that show the job and cron, or the ends of attempts and cron."""
    dry_run: bool
    """Whether nothing was submitted."""
    dependencies: tuple[JobDependency, ...]
    """The dependencies of the job."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings about the job file."""
    failure: JobFailure | None
    """Why the job failed."""


class Submitted(Struct, frozen=True, kw_only=True):
    """A submitted job; `job_id` is None for a dry run, and "" for a job that waits here; `why` tells the reason."""

    folder: JobFolder
    job: str
    user: str
    backend: str
    job_id: str | None
    compiled: Compiled
    after: tuple[Dependency, ...] = ()
    why: str = ""

    @property
    def text(self) -> str:
        """The submission in words."""
        if self.after:
            return f"{self.folder.name} waits and will be submitted when {text_of(self.after)}"
        if self.job_id == "":
            return f"{self.folder.name} waits here: {self.why}"
        return f"{self.folder.name} is job {self.job_id}"

    @property
    def plan_text(self) -> str:
        """The plan, for a person."""
        from ...planning.plan_text import plan_text

        return plan_text(self.compiled.plan)

    @property
    def dependencies(self) -> tuple[JobDependency, ...]:
        """The dependencies, for JSON."""
        return tuple(JobDependency(name=each.name, until=each.until) for each in self.after)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Warnings about the job file, for JSON."""
        return self.compiled.warnings

    @property
    def printed(self) -> SubmittedJob:
        """The record for JSON."""
        return SubmittedJob(
            job=self.job,
            user=self.user,
            name=self.folder.name,
            backend=self.backend,
            job_id=self.job_id or None,
            attempt=0,
            folder=str(self.folder.path),
            script_file=str(self.folder.script(0)),
            task_count=self.compiled.job.task_count,
            monitor=self.compiled.site.monitor.way,
            dry_run=self.job_id is None,
            dependencies=self.dependencies,
            diagnostics=self.diagnostics,
        )

    def ended(self, job: JobView) -> EndedSubmission:
        """Return the end of the job as a record for JSON."""
        return EndedSubmission(
            **{name: getattr(job, name) for name in JobLine.__struct_fields__},
            script_file=str(self.folder.script(0)),
            monitor=self.compiled.site.monitor.way,
            dry_run=False,
            dependencies=self.dependencies,
            diagnostics=self.diagnostics,
            failure=job.failure,
        )


Until = Literal["succeeded", "ended"]


def jobs_before(session: Session, words: Sequence[str]) -> tuple[Dependency, ...]:
    """Return the unfinished dependencies; a job that has already ended as required is omitted.

    Raises NotFoundError for an unknown job, and FolderError for a job that can no longer end as required.
    """
    found: dict[str, Dependency] = {}
    faults: list[Diagnostic] = []
    for word in words:
        address, until = _parse(word)
        for folder in select(session.store, [address], user=session.user):
            view = refresh(session, folder)
            fault = _fault(session, view, until)
            if fault is not None:
                faults.append(fault)
            elif not view.job_status.ended:
                found[folder.name] = Dependency(name=folder.name, created_at=view.history.created, until=until)
    if faults:
        raise FolderError(faults)
    return tuple(found.values())


def text_of(after: Sequence[Dependency]) -> str:
    """Return the dependencies in words."""
    return " and ".join(f"{each.name} has {each.until}" for each in after)


def _parse(word: str) -> tuple[str, Until]:
    """Split `JOB:END` into the job and the end; names of jobs contain no `:`."""
    address, _, until = word.partition(":")
    if until == "ended":
        return address, "ended"
    if until not in ("", "succeeded"):
        message = f"--after {word!r}: unknown end `{until}`"
        raise UsageError(Diagnostic(code="E584", message=message, hint="write JOB, JOB:succeeded or JOB:ended"))
    return address, "succeeded"


def _fault(session: Session, view: View, until: Until) -> Diagnostic | None:
    name, state = view.folder.name, view.job_status.state
    if not is_own(session, view):
        message = f"--after {name}: you do not own this job"
        return Diagnostic(code="E584", message=message, hint="`paislurm list` shows your jobs")
    if view.job_status.ended and until == "succeeded" and state != "SUCCEEDED":
        hint = f"use `--after {view.history.job}:ended` to accept any end"
        return Diagnostic(
            code="E583", message=f"--after {name}: it has already ended without success: {state}", hint=hint
        )
    return None
