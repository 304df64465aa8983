"""Record changes of a job with the old values, and check new time limits."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from paislurm.backends.batch_script import components
from paislurm.backends.files import read_text

from ...errors import Diagnostic, FolderError
from ...slurm_options import WARNED_FROM
from ...state.changes import OPTIONS, RETRIES, changed_options
from ...state.records import Changed
from ...state.safe_read import parse_int
from ...times import elapsed_text, seconds_of, slurm_time, time_of_day
from .possible import is_running, not_possible, target_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paislurm.backends.base import Options

    from ...monitor.poll import View
    from ..session import Session


def write_down(session: Session, view: View, values: Mapping[str, str], target: str, had: Options) -> Changed:
    """Append a change to the journal of a job and return it; `had` are the old options of the job `target`."""
    change = Changed(
        happened_at=session.now(),
        attempt=view.history.attempt,
        user=session.user,
        values=dict(values),
        old_values=_old_values(view, values, had),
        job_id="" if set(values) == {RETRIES} else target,
    )
    _append(view, change)
    view.folder.wake_monitor(view.history.attempt)
    return change


def _old_values(view: View, values: Mapping[str, str], had: Options) -> dict[str, str]:
    """Return the old values of a job: "" for unknown ones, with commas if components differ.

    The source is Slurm, else the last change, else the script of the job.
    """
    known = view.history
    names = [name for name in values if name in OPTIONS]
    old = {name: _of_components(had, name) for name in names}
    if not all(old.values()):
        earlier, script = changed_options(known.changes), options_of_script(view, 0)
        old = {name: old[name] or earlier.get(name) or _of_components(script, name) for name in names}
    return old | ({RETRIES: str(known.retry_policy.retry_limit)} if RETRIES in values else {})


def _of_components(components: Options, name: str) -> str:
    return ",".join(dict.fromkeys(filter(None, (options.get(name) for options in components))))


def _append(view: View, change: Changed) -> None:
    try:
        view.folder.append(change)
    except OSError as error:
        done = f"; job {change.job_id} was changed, but later attempts were not" if change.job_id else ""
        message = f"cannot write {view.folder.journal} ({error.strerror or error}){done}"
        raise FolderError(Diagnostic(code="E510", message=message)) from None


EARLY = 60
"""Slurm may send a signal this many seconds early. Source: sbatch(1), --signal."""


def check_limit(view: View, values: Mapping[str, str], now: int) -> None:
    """Raise RejectedError for a time limit that would stop the tasks at once, or at their start."""
    if "time" not in values or not target_of(view.history, values):
        return
    limit, before, began = seconds_of(values["time"]), _warning(view), _began(view)
    ran = 0 if began is None else max(0, now - began)
    if limit - before > ran or (began is None and not before):
        return
    why = f", because its tasks get a warning {before} s before the limit" if before else ""
    enough = slurm_time(timedelta(seconds=ran + before + 2 * EARLY))
    if began is None:
        message = f"a limit of {values['time']} would end {view.folder.name} at its start{why}"
        raise not_possible("E624", message, f"use `--time {enough}` or more")
    ran_for = elapsed_text(ran)
    message = f"{view.folder.name} has run for {ran_for}: a limit of {values['time']} would end it at once{why}"
    raise not_possible(
        "E624", message, f"use `--time {enough}` or more, or cancel it with `paislurm cancel {view.history.job}`"
    )


def end_text(view: View, values: Mapping[str, str]) -> str:
    """Return when tasks get the warning of the new limit, for a running job or a limit of minutes."""
    began, before = _began(view), _warning(view) if "time" in values else 0
    limit = seconds_of(values["time"]) if before else 0
    if not before or (began is None and limit > WARNED_FROM.total_seconds()):
        return ""
    at = "" if began is None else f", at {time_of_day(began + limit - before)}"
    return f"; tasks get a warning {before} s before the limit{at} or up to a minute earlier"


def _began(view: View) -> int | None:
    """Return the start of a running job, None for a waiting one."""
    return view.observation.started if view.observation is not None and is_running(view) else None


def _warning(view: View) -> int:
    """Return how many seconds before the limit tasks of the last attempt get a warning, 0 without one."""
    script = options_of_script(view, view.history.attempt)
    return parse_int(script[0].get("signal", "").rpartition("@")[2]) or 0 if script else 0


def options_of_script(view: View, attempt: int) -> Sequence[Mapping[str, str]]:
    """Return the options in the script of an attempt, for each component; none if it cannot be read."""
    try:
        return [component.options for component in components(read_text(view.folder.script(attempt)))]
    except OSError:
        return ()
