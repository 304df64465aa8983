"""Measure the usage of a job's running tasks, by sstat or by their processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...errors import Diagnostic, NotFoundError
from ...times import aware
from ..jobs.logs.selection import chosen
from ..ownership import check_script
from .in_tasks import usages_in_tasks
from .of_steps import slurm_usages
from .running import running_roles
from .usage import Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...monitor.poll import View
    from ..session import Session
    from .running import RunningRole
    from .usage import Source, Usage


def measure(session: Session, view: View, word: str | None) -> tuple[Measured, int]:
    """Return the usage of a job's running tasks, and the number of tasks that did not answer.

    `word` selects a task or a role; each task is measured by its processes then. Raises NotFoundError if no task runs.
    """
    roles = _wanted(view, running_roles(view), word)
    measured = _measured(session, view, roles, session.now(), each=word is not None)
    running = sum(len(role.tasks) for role in roles)
    return measured, running - sum(usage.running_tasks for usage in measured.usages)


def _wanted(view: View, roles: list[RunningRole], word: str | None) -> list[RunningRole]:
    wanted = {(role.name, index) for role, index in chosen(view.history.roles, (word,) if word else ())}
    found = [
        replace(role, tasks=[task for task in role.tasks if (task.role, task.index) in wanted])
        for role in roles
        if any((task.role, task.index) in wanted for task in role.tasks)
    ]
    if not found:
        which = f"task of {word} in {view.folder.name}" if word else f"task of {view.folder.name}"
        message = f"no {which} is running: the job is {view.job_status.state}"
        raise NotFoundError(Diagnostic(code="E565", message=message, hint=f"see: paislurm status {view.folder.name}"))
    return found


def _measured(session: Session, view: View, roles: list[RunningRole], now: int, *, each: bool) -> Measured:
    known = view.history
    source: Source = "sstat"
    usages: Sequence[Usage] | None = None if each else slurm_usages(session, view, roles, now)
    if usages is None:
        check_script(view.folder, known.attempt, "top")
        folder = session.backend(known.backend).folder(known.run_folder(view.folder.path))
        source, usages = "processes", usages_in_tasks(session, known, folder, roles)
    return Measured(
        name=view.folder.name,
        job_id=known.job_id,
        measured_by=source,
        measured_at=aware(now),
        usages=tuple(usages),
    )
