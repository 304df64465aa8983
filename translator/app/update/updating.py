"""Change jobs: ask their backends, and write down what attempts to come have."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from paislurm.backends.base import JobId

from ...errors import BackendError, PaislurmError, RejectedError
from ...monitor.poll import open_job
from ...state.changes import HELD, OPTIONS, RETRIES, change_text
from ..jobs.asking import BY_A_PERSON
from ..jobs.cancelling import joined, refusal
from ..jobs.refresh import refresh, refresh_all
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
"""While one attempt is being changed, it may end and another one begin."""


class Done(NamedTuple):
    """Say in words what was changed of a job, how it stands, and the changes: none of a job that had ended."""

    message: str
    view: View
    changes: tuple[Changed, ...] = ()


def update_jobs(
    session: Session, folders: Sequence[JobFolder], values: Mapping[str, str], *, several: bool
) -> tuple[list[Done], list[PaislurmError]]:
    """Change jobs, one by one; return what was done, and what was not possible. One query tells how all stand.

    Of `several`, those that have ended are passed over, unless all have. Of one job some may be done, and some not.
    """
    refusals = [refusal(folder, "update") for folder in folders]
    errors = [error for error in refusals if error is not None]
    known = [folder for folder, error in zip(folders, refusals, strict=True) if error is None]
    # Whether a job has begun decides about these two.
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
    # What Slurm said before is not true any more.
    fresh = any(change.job_id for each in done for change in each.changes)
    now = refresh_all(session, [open_job(each.view.folder) for each in done], max_age=0 if fresh else BY_A_PERSON)
    return [each._replace(view=view) for each, view in zip(done, now, strict=True)], errors


def _options_of(session: Session, views: Sequence[View], values: Iterable[str]) -> dict[tuple[str, str], Options]:
    """Return what jobs have until now, by their backends and numbers: one query of each, nothing if it is silent."""
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
    """Change a job, and yield each change when it is in the journal; the error at the end is for what was refused.

    What its backend refuses of one that is between two attempts by then is tried again.
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
    """Ask a backend to change a job, and return why it did not, or not all of it."""
    try:
        session.backend(name).change(JobId(target), part, had)
    except BackendError as error:
        return error
    return None


def _taken(part: Mapping[str, str], error: BackendError) -> dict[str, str]:
    """Return what is changed all the same: nothing where the error does not say what is not."""
    return {name: value for name, value in part.items() if name not in error.options} if error.options else {}


def _said(view: View, written: Sequence[Changed]) -> str:
    """Say what was done to a job."""
    said = "; ".join(dict.fromkeys(map(change_text, written)))
    here = (change.values for change in written if change.job_id and change.attempt == view.history.attempt)
    values = {name: value for values in here for name, value in values.items()}
    return f"{view.folder.name}: {said}{_when(view, written)}{end_text(view, values)}"


def _parts(values: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield what is changed at once: to hold a job is a question of its own to Slurm."""
    others = {name: value for name, value in values.items() if name != HELD}
    if others:
        yield others
    if HELD in values:
        yield {HELD: values[HELD]}


def _is_as_before(before: History, now: History) -> bool:
    return (before.attempt, before.job_id) == (now.attempt, now.job_id) and now.retry is None and now.ended is None


def _when(view: View, written: Sequence[Changed]) -> str:
    """Say what a change holds for, where that is not plain."""
    targets = dict.fromkeys(each.job_id for each in written if each.job_id)
    if targets:
        return f" (job {', '.join(targets)})"
    if set().union(*(each.values for each in written)) == {RETRIES}:
        return ""
    is_to_come = view.history.is_held_back or view.history.refused is not None
    return " (when it is submitted)" if is_to_come else " (from the next attempt on)"
