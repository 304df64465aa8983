"""`paislurm status`: how a job and its tasks stand."""

from __future__ import annotations

import click

from ...options import examples, job_argument, json_option
from ...output.console import log, print_json


@click.command(epilog=examples("paislurm status my-job", "paislurm status alice~my-job", "paislurm status 1234 --json"))
@job_argument
@click.option("--ports", is_flag=True, help="Show the address and the ports of every task that has begun.")
@json_option
def command(job: str, *, ports: bool, as_json: bool) -> int:
    """Show how a job and its tasks stand.

    JOB is a job's name, user~name, or its Slurm id. For an exit code that tells a failure: `wait`.
    """
    from ...context import store, user_name
    from ...jobs.refresh import refresh
    from ...output.views import print_view, view_dict

    view = refresh(store().find(job, user=user_name()))
    if as_json:
        print_json(view_dict(view))
    else:
        print_view(view, ports=ports)
    if not view.job_status.ended:
        from ...jobs.rounds import warn_of_overdue_round

        warn_of_overdue_round()
    if view.backend_error:
        log(f"this is what was known last: {view.backend_error}")
    for read_errors in view.read_errors:
        log(f"warning: {read_errors}")
    return 0
