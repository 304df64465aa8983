"""`paislurm top`: what the tasks of a job use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import examples, job_argument, json_option, pass_session
from ...output.console import log, print_json, print_result
from ...shell.candidates import Task

if TYPE_CHECKING:
    from ....app.session import Session


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
    from ....app.usage.measure import measure

    view = refresh(session, session.store.find(job, user=session.user))
    measured, silent = measure(session, view, task)
    if as_json:
        print_json(measured)
        return 0
    from ...output.usage_table import measured_text, print_usages

    print_usages(measured)
    print_result("")
    print_result(measured_text(measured))
    if silent:
        log(f"{silent} more did not answer: they have ended, or are about to begin")
    if view.backend_error:
        log(f"this is what was known last: {view.backend_error}")
    return 0
