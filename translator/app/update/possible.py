"""Whether anything can be changed of a job as it stands, and at which job of its backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


def target_of(known: History, part: Iterable[str]) -> str:
    """Return the backend's job that is to be changed, "" where only attempts to come are."""
    return "" if known.retry is not None or set(part) == {RETRIES} else known.job_id


def is_running(view: View) -> bool:
    """Tell whether the backend says that a job has begun."""
    return view.observation is not None and phase(view.observation.state) is Phase.RUNNING


def check_possible(session: Session, view: View, part: Mapping[str, str]) -> None:
    """Raise an error where nothing can be changed of a job, or not this."""
    known, name = view.history, view.folder.name
    if view.job_status.ended:
        raise not_possible("E620", ended_text(view), _once_more(known, part))
    if known.cancelled is not None:
        raise not_possible("E620", f"{name} is being cancelled", _once_more(known, part))
    if is_unsettled(known) and set(part) != {RETRIES}:
        message = f"it is not known yet whether {name} reached {known.backend_label}"
        raise not_possible("E623", message, f"try again when `paislurm status {known.job}` shows its number")
    if known.backend == "local" and set(part) != {RETRIES}:
        message = f"{name} is a job of the local backend, which begins at once, with no limit and on no partition"
        raise not_possible("E622", message, "of such a job `--retries` can be changed")
    if part.get("nice", "").startswith("-") and not target_of(known, part) and session.user != ROOT:
        message = (
            f"{name} is not submitted yet, and {known.backend_label} will not take it with a nice of {part['nice']}"
        )
        raise not_possible("E625", message, "a user may only put a job behind others: a nice of 0 or more")
    if HELD in part and target_of(known, part) and is_running(view):
        message = f"{name} has begun, and only a job that waits can be held or released"
        raise not_possible("E622", message, f"`paislurm cancel {known.job}` ends it")


def ended_text(view: View) -> str:
    """Say how a job has ended."""
    return f"{view.folder.name} has already ended: {view.job_status.state}"


def not_possible(code: str, message: str, hint: str) -> RejectedError:
    """Return the error for a change that cannot be made."""
    return RejectedError(Diagnostic(code=code, message=message, hint=hint))


def _once_more(known: History, part: Mapping[str, str]) -> str:
    """Say how a job is submitted once more, with those of the options that `submit` has."""
    given = [f"--{name} ..." for name in SLURM_OPTIONS if name in part]
    command = " ".join([f"paislurm submit --again {known.job}", *given])
    which = "" if not given else ", with this option" if len(given) == 1 else ", with these options"
    return f"`{command}` submits it once more{which}"


def values_of(
    options: Mapping[str, str | None], *, nice: int | None, held: bool | None, retries: int | None
) -> dict[str, str]:
    """Return the values to be changed; UsageError with all that cannot be meant. A time has the form that a script has.

    `options` are those that `submit` has, too, None for what is not given.
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
    return given | {name: str(value) for name, value in others.items() if value is not None}
