"""`paislurm cancel`: end a job."""

from __future__ import annotations

import click

from ...options import examples, job_argument, json_option
from ...output.console import one_line, print_json, print_result


@click.command(epilog=examples("paislurm cancel my-job", "paislurm cancel 1234"))
@job_argument
@json_option
def command(job: str, *, as_json: bool) -> int:
    """End a job. A job that has ended already is no error.

    JOB is a job's name, user~name, or its Slurm id. Tasks get TERM and some seconds to save what they have.
    """
    from ...context import store, user_name
    from ...jobs.cancelling import cancel
    from ...output.views import end_dict

    done, view = cancel(store().find(job, user=user_name()))
    if as_json:
        print_json(end_dict(view) | {"message": done})
    else:
        print_result(one_line(done))
    return 0
