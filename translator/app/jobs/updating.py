"""Change waiting or running jobs: Slurm is asked, and the journal keeps what it accepted for later attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict, replace

from paislurm.backends.base import JobId
from paislurm.backends.slurm.job_states import Phase, phase

from ...errors import BackendError, Diagnostic, FolderError, PaislurmError, PlanError, RejectedError, UsageError
from ...monitor.attempt import is_unsettled
from ...monitor.poll import open_job
from ...site.layers import locked_target
from ...state.changes import HELD, NO, RETRIES, YES, change_text
from ...state.journal_records import Changed
from ...view.line import JobLine
from ...view.parts import JobChange
from ..job_view import job_change, job_line
from .cancelling import refusal
from .job_sites import JobSites
from .polling import BY_A_PERSON
from .refresh import refresh_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...monitor.facts import View
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ..session import Session

OTHER_CHANGES = "update cannot change commands, images, tasks and resources: edit the job file and submit it again."
"""The hint for changes that `update` cannot make."""


class UpdatedJob(JobLine, frozen=True, kw_only=True):
    """The state of a changed job."""

    message: str
    """The result, in words."""
    changes: tuple[JobChange, ...]
    """The changes of this call; none if the job had ended."""


class UpdatedJobs(Struct, frozen=True, kw_only=True):
    """Several changed jobs."""

    jobs: tuple[UpdatedJob, ...]
    """The jobs, in the order of the arguments."""


class Done(NamedTuple):
    """The result of an update: a message, the state of the job, and the changes (none if it had ended)."""

    message: str
    view: View
    changes: tuple[Changed, ...] = ()

    @property
    def job(self) -> UpdatedJob:
        """The job, for JSON."""
        changes = tuple(map(job_change, self.changes))
        return UpdatedJob(**asdict(job_line(self.view)), message=self.message, changes=changes)


def values_of(
    options: Mapping[str, str | None], *, nice: int | None, held: bool | None, retries: int | None
) -> dict[str, str]:
    """Return the values to change. Raises UsageError without any, or with all invalid values.

    `options` are those that `submit` shares, None if not given. A time is in the format of scripts.
    """
    from ...protocol.extras_slurm import time_limit
    from ...protocol.overrides import value_fault
    from ...times import slurm_time

    given = {name: value for name, value in options.items() if value is not None}
    faults = [fault for name, value in given.items() if (fault := value_fault(name, value))]
    if nice is not None and nice < 0:
        faults.append(Diagnostic(code="E585", message=f"--nice {nice}: users can only lower the priority of a job"))
    if faults:
        raise UsageError(faults)
    if "time" in given:
        given["time"] = slurm_time(time_limit(given["time"]))
    others = {"nice": nice, RETRIES: retries, HELD: None if held is None else YES if held else NO}
    values = given | {name: str(value) for name, value in others.items() if value is not None}
    if not values:
        message = "nothing to change: use --time, --partition, --retries ..."
        raise UsageError(Diagnostic(code="E547", message=message, hint=OTHER_CHANGES))
    return values


def update_jobs(
    session: Session, folders: Sequence[JobFolder], values: Mapping[str, str]
) -> tuple[list[Done], list[PaislurmError]]:
    """Change jobs one by one, and return the results and the errors. One query polls all jobs.

    Ended jobs are skipped unless all have ended. A job may be changed in part.
    """
    refusals = [refusal(folder, "update") for folder in folders]
    errors = [error for error in refusals if error is not None]
    known = [open_job(folder) for folder, error in zip(folders, refusals, strict=True) if error is None]
    views = refresh_all(session, known, max_age=0 if HELD in values else BY_A_PERSON)
    passes_over = any(not view.job_status.ended for view in views)
    sites, done = JobSites(session), list[Done]()
    for view in views:
        if passes_over and view.job_status.ended:
            done.append(Done(_ended_text(view), view))
            continue
        try:
            _check(view, values, sites)
            changes, error = _change(session, view, values)
        except PaislurmError as refused:
            changes, error = (), refused
        if changes:
            done.append(Done(f"{view.folder.name}: {_said(view, changes)}", view, changes))
        if error is not None:
            errors.append(error)
    # The poll result is stale now.
    fresh = any(change.job_id for each in done for change in each.changes)
    now = refresh_all(session, [open_job(each.view.folder) for each in done], max_age=0 if fresh else BY_A_PERSON)
    return [each._replace(view=view) for each, view in zip(done, now, strict=True)], errors


def _check(view: View, values: Mapping[str, str], sites: JobSites) -> None:
    """Raise RejectedError if a job cannot be changed in its state, and PlanError for a value that the site locks."""
    known, name = view.history, view.folder.name
    again = f"submit it again: `paislurm submit --again {known.job}`, with these options"
    if view.job_status.ended or known.cancelled is not None:
        message = _ended_text(view) if view.job_status.ended else f"{name} is being cancelled"
        raise RejectedError(Diagnostic(code="E620", message=message, hint=again))
    if is_unsettled(known) and set(values) != {RETRIES}:
        message = f"it is still unknown whether {name} reached {known.backend_label}"
        hint = f"try again when `paislurm status {known.job}` shows its number"
        raise RejectedError(Diagnostic(code="E623", message=message, hint=hint))
    # Slurm holds a running job without an effect.
    if HELD in values and view.observation is not None and phase(view.observation.state) is Phase.RUNNING:
        message = f"{name} has started, and only a waiting job can be held or released"
        raise RejectedError(
            Diagnostic(code="E622", message=message, hint=f"cancel it with `paislurm cancel {known.job}`")
        )
    for option, value in values.items():
        wanted = locked_target(sites.profile(known), known.virtual_cluster or "default", option)
        if wanted is not None and value != wanted:
            message = f"--{option} {value}: the site locks `{option}` of the job's virtual cluster to {wanted}"
            raise PlanError(Diagnostic(code="E467", message=message, hint=f"remove `--{option}`"))


def _change(
    session: Session, view: View, values: Mapping[str, str]
) -> tuple[tuple[Changed, ...], PaislurmError | None]:
    """Change a job, and return the changes in the journal, and the error for what its backend refused."""
    known, target, taken = view.history, _target_of(view.history, values), dict(values)
    error: PaislurmError | None = None
    if target:
        try:
            session.backend(known.backend).change(JobId(target), values)
        except BackendError as refused:
            error = refused
            taken = {name: value for name, value in values.items() if refused.options and name not in refused.options}
    if not taken:
        return (), error
    change = Changed(
        happened_at=session.now(),
        attempt=known.attempt,
        user=session.user,
        values=taken,
        old_values={RETRIES: str(known.retry_policy.retry_limit)} if RETRIES in taken else {},
        job_id="" if set(taken) == {RETRIES} else target,
    )
    _append(view, change)
    view = replace(view, history=open_job(view.folder).history)
    if not target and _target_of(view.history, values):
        # The next attempt was submitted meanwhile, perhaps without the change.
        more, error = _change(session, view, values)
        return (change, *more), error
    return (change,), error


def _target_of(known: History, values: Mapping[str, str]) -> str:
    """Return the backend's job to change, "" if only later attempts change."""
    return "" if known.retry is not None or set(values) == {RETRIES} else known.job_id


def _append(view: View, change: Changed) -> None:
    try:
        view.folder.append(change)
    except OSError as error:
        done = f"; job {change.job_id} was changed, but later attempts were not" if change.job_id else ""
        message = f"cannot write {view.folder.journal} ({error.strerror or error}){done}"
        raise FolderError(Diagnostic(code="E510", message=message)) from None
    view.folder.wake_monitor(view.history.attempt)


def _ended_text(view: View) -> str:
    return f"{view.folder.name} has already ended: {view.job_status.state}"


def _said(view: View, changes: Sequence[Changed]) -> str:
    """Return the changes in words, and when they take effect if that is not obvious."""
    said = "; ".join(dict.fromkeys(change_text(each.values) for each in changes))
    if targets := [each.job_id for each in changes if each.job_id]:
        return f"{said} (job {', '.join(targets)})"
    if set(changes[0].values) == {RETRIES}:
        return said
    is_to_come = view.history.is_held_back or view.history.refused is not None
    return f"{said} ({'when it is submitted' if is_to_come else 'from the next attempt on'})"
