"""`paislurm top`: CPU, memory and GPU usage of a job's tasks."""

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
    """Show the CPU, memory and GPU usage of a job's running tasks.

    JOB is a job's name, user~name, or its Slurm id. One call of sstat reports the average of each role's tasks. If
    Slurm gathers no usage, or if TASK names a role or a task, one srun measures the processes of each task for a
    second.
    """
    from ....app.jobs.refresh import refresh
    from ....app.usage.measure import measure

    view = refresh(session, session.store.find(job, user=session.user))
    measured, silent = measure(session, view, task)
    if as_json:
        print_json(measured)
        return 0
    from ....app.usage.usage import SENTENCES
    from ...output.usage_table import print_usages

    print_usages(measured)
    print_result("")
    print_result(SENTENCES[measured.measured_by])
    if silent:
        log(f"{silent} more did not answer: they have ended, or have not started yet")
    if view.backend_error:
        log(f"these are the last known values: {view.backend_error}")
    return 0
