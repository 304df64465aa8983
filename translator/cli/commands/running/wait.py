"""`paislurm wait`: until a job has ended."""

from __future__ import annotations

import click

from ...options import examples, job_argument, json_option
from ...output.console import print_json


@click.command(epilog=examples("paislurm wait my-job && paislurm submit next.yaml", "paislurm wait 1234 --json"))
@job_argument
@json_option
def command(job: str, *, as_json: bool) -> int:
    """Wait for the end of a job. The exit code is 0 if it succeeded, else 1.

    JOB is a job's name, user~name, or its Slurm id. Ctrl-C stops the waiting, not the job.
    """
    from ...context import store, user_name
    from ...jobs.failure import failure_of
    from ...jobs.waiting import wait_for_end
    from ...output.exit_status import exit_code, log_ending
    from ...output.views import view_dict

    view = wait_for_end(store().find(job, user=user_name()))
    failure = failure_of(view)
    if as_json:
        print_json(view_dict(view, failure))
    log_ending(view, failure)
    return exit_code(view)
