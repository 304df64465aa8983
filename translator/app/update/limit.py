"""When the tasks of a job are told to end if it gets another time limit: some time before, by its script's signal."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from paislurm.backends.batch_script import components
from paislurm.backends.files import read_text

from ...slurm_options import WARNED_FROM
from ...state.safe_read import parse_int
from ...times import elapsed_text, seconds_of, slurm_time, time_of_day
from .possible import is_running, not_possible, target_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...monitor.poll import View

EARLY = 60
"""Seconds by which Slurm may send a signal too early. Source: sbatch(1), --signal."""


def check_limit(view: View, values: Mapping[str, str], now: int) -> None:
    """Raise an error for a time limit by which the tasks would be told to end at once, or as soon as they begin."""
    if "time" not in values or not target_of(view.history, values):
        return
    limit, before, began = seconds_of(values["time"]), _warning(view), _began(view)
    ran = 0 if began is None else max(0, now - began)
    if limit - before > ran or (began is None and not before):
        return
    told = f", for its tasks are told to end {before} s before the limit" if before else ""
    enough = slurm_time(timedelta(seconds=ran + before + 2 * EARLY))
    if began is None:
        message = f"a limit of {values['time']} would end {view.folder.name} as soon as it begins{told}"
        raise not_possible("E624", message, f"give `--time {enough}` or more")
    message = (
        f"{view.folder.name} has run for {elapsed_text(ran)}: a limit of {values['time']} would end it at once{told}"
    )
    raise not_possible("E624", message, f"give `--time {enough}` or more; `paislurm cancel {view.history.job}` ends it")


def end_text(view: View, values: Mapping[str, str]) -> str:
    """Say when the tasks of a job are told to end by its new limit: where it runs, or is to run for minutes alone."""
    began, before = _began(view), _warning(view) if "time" in values else 0
    limit = seconds_of(values["time"]) if before else 0
    if not before or (began is None and limit > WARNED_FROM.total_seconds()):
        return ""
    at = "" if began is None else f", at {time_of_day(began + limit - before)}"
    return f"; tasks are told to end {before} s before the limit{at} or up to a minute earlier"


def _began(view: View) -> int | None:
    """Return when a job began that runs, None for one that waits."""
    return view.observation.started if view.observation is not None and is_running(view) else None


def _warning(view: View) -> int:
    """Return how many seconds before the limit the tasks of the last attempt are told to end, 0 where they are not."""
    script = options_of_script(view, view.history.attempt)
    return parse_int(script[0].get("signal", "").rpartition("@")[2]) or 0 if script else 0


def options_of_script(view: View, attempt: int) -> Sequence[Mapping[str, str]]:
    """Return what the script of an attempt asks for, for each component; nothing where it cannot be read."""
    try:
        return [component.options for component in components(read_text(view.folder.script(attempt)))]
    except OSError:
        return ()
