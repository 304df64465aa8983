"""Write down what was changed of a job, and what it had until then."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import Diagnostic, FolderError
from ...state.changes import OPTIONS, RETRIES, changed_options
from ...state.records import Changed
from .limit import options_of_script

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paislurm.backends.base import Options

    from ...monitor.poll import View
    from ..session import Session


def write_down(session: Session, view: View, values: Mapping[str, str], target: str, had: Options) -> Changed:
    """Append a change to the journal of a job and return it; `had` is what the job `target` of its backend had."""
    change = Changed(
        happened_at=session.now(),
        attempt=view.history.attempt,
        user=session.user,
        values=dict(values),
        old_values=_old_values(view, values, had),
        job_id="" if set(values) == {RETRIES} else target,
    )
    _append(view, change)
    _wake(view)
    return change


def _old_values(view: View, values: Mapping[str, str], had: Options) -> dict[str, str]:
    """Return what a job had until now: "" for what nobody knows, names with commas where components differ.

    What Slurm says counts; without it what was changed before, or what the script of the job asks for.
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
        done = f"; job {change.job_id} is changed, attempts to come are not" if change.job_id else ""
        message = f"{view.folder.journal} cannot be written ({error.strerror or error}){done}"
        raise FolderError(Diagnostic(code="E510", message=message)) from None


def _wake(view: View) -> None:
    """Have the monitor look: of a job that has not begun no other file tells it."""
    with suppress(OSError):
        os.utime(view.folder.attempt(view.history.attempt))
