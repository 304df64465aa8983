"""Change jobs: ask their backends, and write down what attempts to come have."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from paislurm.backends.base import JobId
from paislurm.backends.batch_script import components
from paislurm.backends.slurm.states import Phase, phase
from paislurm.backends.slurm_emulator.files import read_text

from ...errors import Diagnostic, FolderError, PaislurmError, RejectedError
from ...monitor.attempt import is_unsettled
from ...monitor.poll import open_job
from ...state.changes import HELD, RETRIES, changed_options
from ...state.records import Changed
from ..context import backend, clock, user_name
from ..jobs.cancelling import refusal
from ..jobs.refresh import refresh, refresh_all
from ..output.change_rows import change_text
from .permitted import check_permitted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...monitor.poll import View
    from ...state.history import History
    from ...state.job_folder import JobFolder

TRIES = 3
"""While one attempt is being changed, it may end and another one begin."""


class Done(NamedTuple):
    """Say in words what was changed of a job, how it stands, and the changes: none of a job that had ended."""

    message: str
    view: View
    changes: tuple[Changed, ...] = ()


def update_jobs(
    folders: Sequence[JobFolder], values: Mapping[str, str], *, several: bool
) -> tuple[list[Done], list[PaislurmError]]:
    """Change jobs, one by one; return what was done, and what was not possible. One query tells how all stand.

    Of `several`, those that have ended are passed over, unless all have.
    """
    refusals = [refusal(folder, "update") for folder in folders]
    errors = [error for error in refusals if error is not None]
    known = [folder for folder, error in zip(folders, refusals, strict=True) if error is None]
    views = refresh_all([open_job(folder) for folder in known])
    passes_over = several and any(not view.job_status.ended for view in views)
    done: list[Done] = []
    for view in views:
        if passes_over and view.job_status.ended:
            done.append(Done(_ended_text(view), view))
            continue
        try:
            done.append(_update(view, values))
        except PaislurmError as error:
            errors.append(error)
    now = refresh_all([open_job(each.view.folder) for each in done])
    return [each._replace(view=view) for each, view in zip(done, now, strict=True)], errors


def _update(view: View, values: Mapping[str, str]) -> Done:
    """Change a job; what its backend refuses of one that is between two attempts by then is tried again."""
    _check(view, values)
    check_permitted(view, values)
    written: list[Changed] = []
    for part in _parts(values):
        for tries_left in reversed(range(TRIES)):
            _check(view, part)
            target = _target(view.history, part)
            try:
                if target:
                    backend(view.history.backend).change(JobId(target), part)
            except RejectedError:
                before, view = view, refresh(view.folder, max_age=0)
                if not tries_left or _is_as_before(before.history, view.history):
                    raise
                continue
            change = _record(view, part, target)
            _append(view, change)
            written.append(change)
            _wake(view)
            view = replace(view, history=open_job(view.folder).history)
            if target or not _target(view.history, part):
                break
    said = "; ".join(dict.fromkeys(map(change_text, written)))
    return Done(f"{view.folder.name}: {said}{_when(view, written)}", view, tuple(written))


def _parts(values: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield what is changed at once: to hold a job is a question of its own to Slurm."""
    others = {name: value for name, value in values.items() if name != HELD}
    if others:
        yield others
    if HELD in values:
        yield {HELD: values[HELD]}


def _target(known: History, part: Mapping[str, str]) -> str:
    """Return the backend's job that is to be changed, "" where only attempts to come are."""
    return "" if known.retry is not None or set(part) == {RETRIES} else known.job_id


def _is_as_before(before: History, now: History) -> bool:
    return (before.attempt, before.job_id) == (now.attempt, now.job_id) and now.retry is None and now.ended is None


def _check(view: View, part: Mapping[str, str]) -> None:
    """Raise an error where nothing can be changed of a job, or not this."""
    known, name, seen = view.history, view.folder.name, view.observation
    if view.job_status.ended:
        hint = f"`paislurm submit --again {known.job} --time ...` submits it once more, with these options"
        raise _error("E620", _ended_text(view), hint)
    if known.cancelled is not None:
        raise _error(
            "E620", f"{name} is being cancelled", f"`paislurm submit --again {known.job}` submits it once more"
        )
    if is_unsettled(known) and set(part) != {RETRIES}:
        message = f"it is not known yet whether {name} reached {known.backend_label}"
        raise _error("E623", message, f"try again when `paislurm status {known.job}` shows its number")
    if known.backend == "local" and set(part) != {RETRIES}:
        message = f"{name} is a job of the local backend, which begins at once, with no limit and on no partition"
        raise _error("E622", message, "of such a job `--retries` can be changed")
    if HELD in part and _target(known, part) and seen is not None and phase(seen.state) is Phase.RUNNING:
        message = f"{name} has begun, and only a job that waits can be held or released"
        raise _error("E622", message, f"`paislurm cancel {known.job}` ends it")


def _error(code: str, message: str, hint: str) -> RejectedError:
    return RejectedError(Diagnostic(code=code, message=message, hint=hint))


def _ended_text(view: View) -> str:
    return f"{view.folder.name} has already ended: {view.job_status.state}"


def _record(view: View, part: Mapping[str, str], target: str) -> Changed:
    return Changed(
        happened_at=clock(),
        attempt=view.history.attempt,
        user=user_name(),
        values=dict(part),
        old_values=_old_values(view, part),
        job_id=target,
    )


def _old_values(view: View, part: Mapping[str, str]) -> dict[str, str]:
    """Return what a job had until now: "" for what Slurm has, names with commas where components differ."""
    known = view.history
    earlier = changed_options(known.changes)
    script = components(read_text(view.folder.script(0))) if set(part) - {HELD, RETRIES} - earlier.keys() else ()
    old = {name: ",".join(dict.fromkeys(filter(None, (c.options.get(name) for c in script)))) for name in part}
    old |= {name: value for name, value in earlier.items() if name in part}
    old.pop(HELD, None)
    return old | ({RETRIES: str(known.retry_policy.retry_limit)} if RETRIES in part else {})


def _append(view: View, change: Changed) -> None:
    try:
        view.folder.append(change)
    except OSError as error:
        done = f"; job {change.job_id} is changed, attempts to come are not" if change.job_id else ""
        message = f"{view.folder.journal} cannot be written ({error.strerror or error}){done}"
        raise FolderError(Diagnostic(code="E510", message=message)) from None


def _wake(view: View) -> None:
    """Have the monitor look: of a job that has not begun no other file tells it."""
    with suppress(OSError):
        os.utime(view.folder.attempt(view.history.attempt))


def _when(view: View, written: Sequence[Changed]) -> str:
    """Say what a change holds for, where that is not plain."""
    targets = dict.fromkeys(each.job_id for each in written if each.job_id)
    if targets:
        return f" (job {', '.join(targets)})"
    if set().union(*(each.values for each in written)) == {RETRIES}:
        return ""
    return " (when it is submitted)" if view.history.is_held_back else " (from the next attempt on)"
