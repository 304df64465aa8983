"""`paislurm top`: what the tasks of a job use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import examples, job_argument, json_option, pass_session
from ...output.console import log, print_json, print_result
from ...shell.candidates import Task

if TYPE_CHECKING:
    from ....app.session import Session
    from ....app.usage.running import RunningRole
    from ....app.usage.usage import Measured
    from ....monitor.poll import View


@click.command(
    epilog=examples("paislurm top my-job", "paislurm top my-job worker", "paislurm top my-job worker-0 --json")
)
@job_argument
@click.argument("task", metavar="[TASK]", type=Task(), required=False)
@json_option
@pass_session
def command(session: Session, job: str, task: str | None, *, as_json: bool) -> int:
    """Show what the running tasks of a job use: CPU, memory, GPUs.

    JOB is a job's name, user~name, or its Slurm id. Slurm is asked by one sstat, which tells the average of the
    tasks of a role. Where it gathers nothing, and where TASK names a role or a task, the processes of each
    task are looked at for a second, by one srun.
    """
    from ....app.jobs.refresh import refresh
    from ....app.usage.running import running_roles

    view = refresh(session, session.store.find(job, user=session.user))
    roles = _wanted(view, running_roles(view), task)
    measured = _measured(session, view, roles, session.now(), each=task is not None)
    if as_json:
        from ...output.usage_table import measured_dict

        print_json(measured_dict(view, measured))
        return 0
    from ...output.usage_table import measured_text, print_usages

    print_usages(measured)
    print_result("")
    print_result(measured_text(measured))
    silent = sum(len(role.tasks) for role in roles) - sum(usage.running_tasks for usage in measured.usages)
    if silent:
        log(f"{silent} more did not answer: they have ended, or are about to begin")
    if view.backend_error:
        log(f"this is what was known last: {view.backend_error}")
    return 0


def _wanted(view: View, roles: list[RunningRole], word: str | None) -> list[RunningRole]:
    """Return the roles with those of their tasks that a word means; NotFoundError if none of them runs."""
    from msgspec.structs import replace

    from ....app.jobs.logs.selection import chosen
    from ....errors import Diagnostic, NotFoundError

    wanted = {(role.name, index) for role, index in chosen(view.history.roles, (word,) if word else ())}
    found = [
        replace(role, tasks=[task for task in role.tasks if (task.role, task.index) in wanted])
        for role in roles
        if any((task.role, task.index) in wanted for task in role.tasks)
    ]
    if not found:
        which = f"task or role {word} of {view.folder.name}" if word else f"{view.folder.name}"
        message = f"nothing of {which} is running: the job is {view.job_status.state}"
        raise NotFoundError(Diagnostic(code="E565", message=message, hint=f"see: paislurm status {view.folder.name}"))
    return found


def _measured(session: Session, view: View, roles: list[RunningRole], now: int, *, each: bool) -> Measured:
    from ....app.ownership import check_script
    from ....app.usage.in_tasks import usages_in_tasks
    from ....app.usage.of_steps import slurm_usages
    from ....app.usage.usage import Measured

    known = view.history
    found = None if each else slurm_usages(session, view, roles, now)
    if found is not None:
        return Measured("sstat", now, found)
    check_script(view.folder, known.attempt, "top")
    folder = session.backend(known.backend).folder(known.run_folder(view.folder.path))
    return Measured("processes", now, usages_in_tasks(session, known, folder, roles))
