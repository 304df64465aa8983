"""Arguments of `--after` (`JOB`, `JOB:succeeded` or `JOB:ended`) -> the dependencies of a new job."""

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
    """Return the unfinished dependencies; a job that has already ended as required is omitted.

    Raises NotFoundError for an unknown job, and FolderError for a job that can no longer end as required.
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
    """Return the dependencies in words."""
    return " and ".join(f"{each.name} has {each.until}" for each in after)


def _parse(word: str) -> tuple[str, Until]:
    """Split `JOB:END` into the job and the end; names of jobs contain no `:`."""
    address, _, until = word.partition(":")
    if until == "ended":
        return address, "ended"
    if until not in ("", "succeeded"):
        message = f"--after {word!r}: unknown end `{until}`"
        raise UsageError(Diagnostic(code="E584", message=message, hint="write JOB, JOB:succeeded or JOB:ended"))
    return address, "succeeded"


def _fault(session: Session, view: View, until: Until) -> Diagnostic | None:
    name, state = view.folder.name, view.job_status.state
    if not is_own(session, view):
        message = f"--after {name}: you do not own this job"
        return Diagnostic(code="E584", message=message, hint="`paislurm list` shows your jobs")
    if view.job_status.ended and until == "succeeded" and state != "SUCCEEDED":
        hint = f"use `--after {view.history.job}:ended` to accept any end"
        return Diagnostic(
            code="E583", message=f"--after {name}: it has already ended without success: {state}", hint=hint
        )
    return None
