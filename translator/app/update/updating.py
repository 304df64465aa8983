"""Change jobs at their backends, and record the changes for later attempts."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict, replace

from paislurm.backends.base import JobId

from ...errors import BackendError, PaislurmError, RejectedError
from ...monitor.poll import open_job
from ...state.changes import HELD, OPTIONS, RETRIES, change_text
from ..jobs.cancelling import joined, refusal
from ..jobs.polling import BY_A_PERSON
from ..jobs.refresh import refresh, refresh_all
from ..views.job import JobChange
from ..views.line import JobLine, job_line
from ..views.of_poll import job_change
from .permitted import check_permitted
from .possible import check_possible, ended_text, target_of
from .writing import check_limit, end_text, write_down

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from paislurm.backends.base import Options

    from ...monitor.poll import View
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...state.records import Changed
    from ..session import Session

TRIES = 3
"""The number of tries: an attempt may end during the change, and the next one start."""


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


def update_jobs(
    session: Session, folders: Sequence[JobFolder], values: Mapping[str, str], *, several: bool
) -> tuple[list[Done], list[PaislurmError]]:
    """Change jobs one by one, and return the results and the errors. One query polls all jobs.

    With `several`, ended jobs are skipped unless all have ended. A job may be changed in part.
    """
    refusals = [refusal(folder, "update") for folder in folders]
    errors = [error for error in refusals if error is not None]
    known = [folder for folder, error in zip(folders, refusals, strict=True) if error is None]
    # These two depend on whether the job has started.
    views = refresh_all(
        session, [open_job(folder) for folder in known], max_age=0 if {"time", HELD} & {*values} else BY_A_PERSON
    )
    passes_over = several and any(not view.job_status.ended for view in views)
    before = _options_of(session, [view for view in views if not view.job_status.ended], values)
    done: list[Done] = []
    for view in views:
        if passes_over and view.job_status.ended:
            done.append(Done(ended_text(view), view))
            continue
        written: list[Changed] = []
        try:
            check_possible(session, view, values)
            check_limit(view, values, session.now())
            check_permitted(session, view, values)
            for change in _changes(session, view, values, before):
                written.append(change)  # noqa: PERF402 - what comes before an error counts
        except PaislurmError as error:
            errors.append(error)
        if written:
            done.append(Done(_said(view, written), view, tuple(written)))
    # The poll result is stale now.
    fresh = any(change.job_id for each in done for change in each.changes)
    now = refresh_all(session, [open_job(each.view.folder) for each in done], max_age=0 if fresh else BY_A_PERSON)
    return [each._replace(view=view) for each, view in zip(done, now, strict=True)], errors


def _options_of(session: Session, views: Sequence[View], values: Iterable[str]) -> dict[tuple[str, str], Options]:
    """Return the current options of jobs, by backend and job id, with one query each; none without an answer."""
    wanted: dict[str, list[JobId]] = {}
    for view in views:
        if {*OPTIONS} & {*values} and (target := target_of(view.history, values)):
            wanted.setdefault(view.history.backend, []).append(JobId(target))
    found: dict[tuple[str, str], Options] = {(name, job_id): () for name, ids in wanted.items() for job_id in ids}
    for name, ids in wanted.items():
        with suppress(BackendError):
            found |= {(name, job_id): options for job_id, options in session.backend(name).options(ids).items()}
    return found


def _changes(
    session: Session, view: View, values: Mapping[str, str], before: dict[tuple[str, str], Options]
) -> Iterator[Changed]:
    """Change a job, and yield each change once it is in the journal; then the error for rejected changes.

    If the job was between two attempts, a rejected change is tried again.
    """
    errors: list[PaislurmError] = []
    for part in _parts(values):
        for tries_left in reversed(range(TRIES)):
            check_possible(session, view, part)
            target = target_of(view.history, part)
            key = (view.history.backend, target)
            if target and key not in before:
                before |= _options_of(session, [view], part)
            had = before.get(key, ())
            error = _ask(session, view.history.backend, target, part, had) if target else None
            taken = part if error is None else _taken(part, error)
            if isinstance(error, RejectedError):
                earlier, view = view, refresh(session, view.folder, max_age=0)
                if tries_left and not _is_as_before(earlier.history, view.history):
                    continue
            if taken:
                yield write_down(session, view, taken, target, had)
            if error is not None:
                errors.append(error)
                break
            view = replace(view, history=open_job(view.folder).history)
            if target or not target_of(view.history, part):
                break
        if errors and not isinstance(errors[-1], RejectedError):
            break
    if errors:
        raise joined(errors)


def _ask(session: Session, name: str, target: str, part: Mapping[str, str], had: Options) -> BackendError | None:
    """Change a job at its backend, and return the error for values that it rejected."""
    try:
        session.backend(name).change(JobId(target), part, had)
    except BackendError as error:
        return error
    return None


def _taken(part: Mapping[str, str], error: BackendError) -> dict[str, str]:
    """Return the values that were changed despite the error; none if the error does not say."""
    return {name: value for name, value in part.items() if name not in error.options} if error.options else {}


def _said(view: View, written: Sequence[Changed]) -> str:
    """Return the changes of a job in words."""
    said = "; ".join(dict.fromkeys(map(change_text, written)))
    here = (change.values for change in written if change.job_id and change.attempt == view.history.attempt)
    values = {name: value for values in here for name, value in values.items()}
    return f"{view.folder.name}: {said}{_when(view, written)}{end_text(view, values)}"


def _parts(values: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Split values into groups of one call each: holding a job needs a separate call to Slurm."""
    others = {name: value for name, value in values.items() if name != HELD}
    if others:
        yield others
    if HELD in values:
        yield {HELD: values[HELD]}


def _is_as_before(before: History, now: History) -> bool:
    return (before.attempt, before.job_id) == (now.attempt, now.job_id) and now.retry is None and now.ended is None


def _when(view: View, written: Sequence[Changed]) -> str:
    """Return when a change takes effect, if that is not obvious."""
    targets = dict.fromkeys(each.job_id for each in written if each.job_id)
    if targets:
        return f" (job {', '.join(targets)})"
    if set().union(*(each.values for each in written)) == {RETRIES}:
        return ""
    is_to_come = view.history.is_held_back or view.history.refused is not None
    return " (when it is submitted)" if is_to_come else " (from the next attempt on)"
