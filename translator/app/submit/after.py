"""Words of `--after` -> the jobs that a new one waits for: `JOB`, `JOB:succeeded` or `JOB:ended`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ...errors import Diagnostic, FolderError, UsageError
from ...state.records import Dependency
from ..jobs.refresh import is_own, refresh
from ..jobs.selecting import select

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...monitor.poll import View
    from ..session import Session

Until = Literal["succeeded", "ended"]


def jobs_before(session: Session, words: Sequence[str]) -> tuple[Dependency, ...]:
    """Return the jobs that are still to be waited for; one that has ended as it should needs no waiting.

    Raises `NotFoundError` for a word that means no job, and `FolderError` for jobs that can never end as they should.
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
    """Return in words what a job waits for."""
    return " and ".join(f"{each.name} has {each.until}" for each in after)


def _parse(word: str) -> tuple[str, Until]:
    """Return the address and the end that is wanted; no job has a `:` in its name."""
    address, _, until = word.partition(":")
    if until == "ended":
        return address, "ended"
    if until not in ("", "succeeded"):
        message = f"--after {word!r}: `{until}` is no end of a job"
        raise UsageError(Diagnostic(code="E584", message=message, hint="write JOB, JOB:succeeded or JOB:ended"))
    return address, "succeeded"


def _fault(session: Session, view: View, until: Until) -> Diagnostic | None:
    name, state = view.folder.name, view.job_status.state
    if not is_own(session, view):
        message = f"--after {name}: that is no job of your own"
        return Diagnostic(code="E584", message=message, hint="`paislurm list` shows your jobs")
    if view.job_status.ended and until == "succeeded" and state != "SUCCEEDED":
        hint = f"`--after {view.history.job}:ended` takes any end"
        return Diagnostic(code="E583", message=f"--after {name}: it has ended, and did not succeed: {state}", hint=hint)
    return None
