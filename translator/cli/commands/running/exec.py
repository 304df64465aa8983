"""`paislurm exec`: a shell or a command in a task that runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from ....errors import Diagnostic, NotFoundError
from ...options import examples, job_argument, json_option, pass_session
from ...output.console import print_json
from ...shell.candidates import Task

if TYPE_CHECKING:
    from pathlib import Path

    from ....app.session import Session
    from ....monitor.poll import View
    from ....state.records import JobRole

END_OF_OPTIONS = "--"


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog=examples(
        "paislurm exec my-job worker-0",
        "paislurm exec my-job worker-0 -- nvidia-smi",
        "paislurm exec my-job worker-0 -- bash -c 'ps aux | grep python'",
        "paislurm exec my-job worker-0 -- tar c . > work.tar",
        "paislurm exec my-job -- nvidia-smi              # a job of one task",
    ),
)
@json_option
@job_argument
@click.argument("task", metavar="[ROLE-INDEX]", type=Task(), required=False)
@click.argument("words", metavar="[--] [COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@pass_session
def command(session: Session, job: str, task: str | None, words: tuple[str, ...], *, as_json: bool) -> int:
    """Open a shell in a task that runs, or run a command there; nothing of ssh is needed on the nodes.

    JOB is a job's name, user~name, or its Slurm id. Of a job of one task ROLE-INDEX can be left out; a command then
    stands behind `--`. The shell or command runs beside the task's own command: in its container, with its
    devices, within its limits, in its working directory and with its variables. It has a terminal if standard input
    and output are one here. The exit code is that of the command, 255 if the way to the task fails later than this
    command can tell. With --json nothing is run: what would be is printed.
    """
    from paislurm.backends.base import JobId

    from ....app.jobs.refresh import refresh
    from ....app.ownership import check_own, check_script

    view = refresh(session, session.store.find(job, user=session.user))
    check_own(view.folder, "exec")
    named, words = _task_and_command(task, words)
    role, index = _one(view, named)
    _check_that_it_runs(view, role, index)
    check_script(view.folder, view.history.attempt, "exec")
    home = session.backend(view.history.backend)
    argv = _argv(view, home.folder(view.history.run_folder(view.folder.path)), role, index, words)
    if as_json:
        print_json({"argv": argv, "task": f"{role.name}-{index}", "job_id": view.history.job_id})
        return 0
    return home.attach(argv, JobId(view.history.job_id), terminal=os.isatty(0) and os.isatty(1))


def _task_and_command(task: str | None, words: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """Return the word for the task, None for the job's only one, and the command.

    Of options that stand after arguments click makes nothing, the first `--` among them.
    """
    if task in (None, END_OF_OPTIONS):
        return None, words
    return task, words[1:] if words[:1] == (END_OF_OPTIONS,) else words


def _one(view: View, word: str | None) -> tuple[JobRole, int]:
    """Return the task that is meant; the name of a role is enough for its only task, none for a job's only one."""
    from ....app.jobs.logs.selection import chosen, task_names

    roles = view.history.roles
    try:
        tasks = chosen(roles, (word,) if word is not None else ())
    except NotFoundError as error:
        if sum(role.instances for role in roles) == 1:
            error.diagnostics = tuple(
                replace(each, hint=f"{each.hint}, which can be left out: a command stands behind `--` then")
                for each in error.diagnostics
            )
        raise
    if len(tasks) > 1:
        what, which = word or view.folder.name, f"{word}-0 to {word}-{len(tasks) - 1}" if word else task_names(roles)
        raise click.UsageError(f"{what} has {len(tasks)} tasks: say which, {which}")
    return tasks[0]


def _check_that_it_runs(view: View, role: JobRole, index: int) -> None:
    state = next((task.state for task in view.tasks if (task.role, task.index) == (role.name, index)), "WAITING")
    if state in ("RUNNING", "STOPPING") and not view.job_status.ended:
        return
    message = f"task {role.name}-{index} of {view.folder.name} is not running: it is {state}"
    hint = f"see: paislurm status {view.folder.name}"
    raise NotFoundError(Diagnostic(code="E525", message=message, hint=hint))


def _argv(view: View, folder: Path, role: JobRole, index: int, words: tuple[str, ...]) -> list[str]:
    """Return what calls the task: the job's own script, which knows the way, in the job's `folder`."""
    from ....rendering.shell import quote
    from ....state.job_folder import JobFolder

    attempt, position = view.history.attempt, view.history.roles.index(role)
    script = JobFolder(path=folder).script(attempt)
    text = " ".join(map(quote, words))
    return ["bash", "-p", str(script), "--exec", str(folder), str(attempt), str(position), str(index), text]
