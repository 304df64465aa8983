"""Checks whether a job can be changed in its state, and the backend's job to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paislurm.backends.base import LOCAL
from paislurm.backends.slurm.states import Phase, phase

from ...errors import Diagnostic, RejectedError, UsageError
from ...monitor.attempt import is_unsettled
from ...monitor.retry import ROOT
from ...protocol.overrides import value_fault
from ...state.changes import HELD, NO, RETRIES, YES
from ..input.source import SLURM_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...monitor.poll import View
    from ...state.history import History
    from ..session import Session

OTHER_CHANGES = "update cannot change commands, images, tasks and resources: edit the job file and submit it again."
"""The hint for changes that `update` cannot make."""


def target_of(known: History, part: Iterable[str]) -> str:
    """Return the backend's job to change, "" if only later attempts change."""
    return "" if known.retry is not None or set(part) == {RETRIES} else known.job_id


def is_running(view: View) -> bool:
    """Return whether the backend reports that a job has started."""
    return view.observation is not None and phase(view.observation.state) is Phase.RUNNING


def check_possible(session: Session, view: View, part: Mapping[str, str]) -> None:
    """Raise RejectedError if a job cannot be changed, or not these values."""
    known, name = view.history, view.folder.name
    if view.job_status.ended:
        raise not_possible("E620", ended_text(view), _once_more(known, part))
    if known.cancelled is not None:
        raise not_possible("E620", f"{name} is being cancelled", _once_more(known, part))
    if is_unsettled(known) and set(part) != {RETRIES}:
        message = f"it is still unknown whether {name} reached {known.backend_label}"
        raise not_possible("E623", message, f"try again when `paislurm status {known.job}` shows its number")
    if known.backend == LOCAL and set(part) != {RETRIES}:
        message = f"{name} is a job of the local backend, which has no queue, time limit or partition"
        raise not_possible("E622", message, "change only `--retries` of such a job")
    if part.get("nice", "").startswith("-") and not target_of(known, part) and session.user != ROOT:
        message = (
            f"{name} is not submitted yet, and {known.backend_label} would reject it with a nice of {part['nice']}"
        )
        raise not_possible("E625", message, "use a nice of 0 or more: users can only lower the priority")
    if HELD in part and target_of(known, part) and is_running(view):
        message = f"{name} has started, and only a waiting job can be held or released"
        raise not_possible("E622", message, f"cancel it with `paislurm cancel {known.job}`")


def ended_text(view: View) -> str:
    """Return how a job has ended, in words."""
    return f"{view.folder.name} has already ended: {view.job_status.state}"


def not_possible(code: str, message: str, hint: str) -> RejectedError:
    """Return the error for an impossible change."""
    return RejectedError(Diagnostic(code=code, message=message, hint=hint))


def _once_more(known: History, part: Mapping[str, str]) -> str:
    """Return the hint to submit a job again, with those options that `submit` shares."""
    given = [f"--{name} ..." for name in SLURM_OPTIONS if name in part]
    command = " ".join([f"paislurm submit --again {known.job}", *given])
    which = "" if not given else ", with this option" if len(given) == 1 else ", with these options"
    return f"submit it again{which}: `{command}`"


def values_of(
    options: Mapping[str, str | None], *, nice: int | None, held: bool | None, retries: int | None
) -> dict[str, str]:
    """Return the values to change. Raises UsageError without any, or with all invalid values.

    `options` are those that `submit` shares, None if not given. A time is in the format of scripts.
    """
    from ...protocol.extras_slurm import time_limit
    from ...times import slurm_time

    given = {name: value for name, value in options.items() if value is not None}
    faults = [fault for name, value in given.items() if (fault := value_fault(name, value))]
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
