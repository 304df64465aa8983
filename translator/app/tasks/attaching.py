"""Open a shell in a running task, or run a command in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from paislurm.backends.base import LOCAL, JobId
from paislurm.backends.slurm.backend import check_cluster

from ...errors import Diagnostic, NotFoundError, UsageError
from ...rendering.shell import quote
from ...state.job_folder import JobFolder
from ..jobs.logs.selection import chosen, task_names
from ..jobs.refresh import refresh
from ..paths import check_own, check_script
from ..task_facts import labels_in_job_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from paislurm.backends.base import Backend
    from paislurm.backends.runner import Completed

    from ...monitor.facts import View
    from ...state.history import History
    from ...state.journal_records import JobRole
    from ...view.task import TaskView, WebPage
    from ..session import Session

SECONDS = 60.0
"""The most seconds of a program beside tasks."""


class TaskCall(Struct, frozen=True, kw_only=True):
    """The command that opens a shell or runs a command in a task."""

    argv: tuple[str, ...]
    """The arguments of the command."""
    task: str
    """The name of the task, `worker-0`."""
    job_id: str
    """The id of the Slurm job."""


def run_beside(session: Session, known: History, argv: Sequence[str]) -> Completed:
    """Run a program that reaches tasks of a job, by srun or its stand-in, and return its result."""
    if known.backend == LOCAL:
        from paislurm.backends.local.local_job import called_environment

        folder = (session.store.home / LOCAL / known.job_id).absolute()
        return session.runner.run(argv, env=called_environment(session.environment, folder), timeout=SECONDS)
    check_cluster(JobId(known.job_id))
    return session.slurm_runner(known.backend).run(argv, timeout=SECONDS)


def call_of_task(session: Session, job: JobFolder, task: str, command: Sequence[str]) -> tuple[TaskCall, Backend]:
    """Return the command that `attach` runs, and the backend of the job."""
    view = refresh(session, job)
    known = view.history
    check_own(view.folder, "exec")
    role, index = _task(view, task)
    _check_that_it_runs(view, role, index)
    check_script(view.folder, known.attempt, "exec")
    home = session.backend(known.backend)
    argv = _argv(view, home.folder(known.run_folder(view.folder.path)), role, index, command)
    return TaskCall(argv=argv, task=f"{role.name}-{index}", job_id=known.job_id), home


def _task(view: View, word: str) -> tuple[JobRole, int]:
    try:
        return one_task(view, word)
    except NotFoundError as error:
        if sum(role.instances for role in view.history.roles) == 1:
            error.diagnostics = tuple(
                replace(each, hint=f"{each.hint}; or omit it and write `--` before the command")
                for each in error.diagnostics
            )
        raise


def _check_that_it_runs(view: View, role: JobRole, index: int) -> None:
    state = next((task.state for task in view.tasks if (task.role, task.index) == (role.name, index)), "WAITING")
    if state in ("RUNNING", "STOPPING") and not view.job_status.ended:
        return
    message = f"task {role.name}-{index} of {view.folder.name} is not running: it is {state}"
    hint = f"see: paislurm status {view.folder.name}"
    raise NotFoundError(Diagnostic(code="E525", message=message, hint=hint))


def _argv(view: View, folder: Path, role: JobRole, index: int, words: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments that run the job's own script in `folder`, which enters the task."""
    attempt, position = view.history.attempt, view.history.roles.index(role)
    script = JobFolder(path=folder).script(attempt)
    text = " ".join(map(quote, words))
    return ("bash", "-p", str(script), "--exec", str(folder), str(attempt), str(position), str(index), text)


def one_task(view: View, word: str) -> tuple[JobRole, int]:
    """Return a task by its name; a role's name selects its only task, "" the job's only task.

    Raises NotFoundError for an unknown name, and UsageError if several tasks match.
    """
    roles = view.history.roles
    found = chosen(roles, (word,) if word else ())
    if len(found) == 1:
        return found[0]
    what = word or view.folder.name
    which = f"{word}-0 to {word}-{len(found) - 1}" if word else task_names(roles)
    raise _unclear(f"{what} has {len(found)} tasks: choose one of {which}")


def only_port(view: View, place: TaskView, pages: Sequence[WebPage]) -> str:
    """Return the label of the only port of a task that the job file declares. Raises UsageError if there are several.

    A page such as TensorBoard counts as a port with its title. Each task also has a port `ssh` and a port `http`.
    """
    labels = labels_in_job_file(view.folder, place.role)
    titles = [page.title.lower() for page in pages if page.title == "TensorBoard"]
    found = [*labels, *titles] or ["http"]
    if len(found) != 1:
        raise _unclear(f"{place.name} has several ports: choose one of {', '.join(found)}")
    return found[0]


def _unclear(message: str) -> UsageError:
    return UsageError(Diagnostic(code="E547", message=message))
