"""`paislurm status`: how a job and its tasks stand."""

from __future__ import annotations

import click

from ...context import store, user_name
from ...jobs.refresh import look_at
from ...options import examples, job_argument, json_option
from ...output.console import put_json, say
from ...output.views import put_view, view_dict


@click.command(epilog=examples("paislurm status my-job", "paislurm status alice~my-job", "paislurm status 1234 --json"))
@job_argument
@json_option
def command(job: str, *, as_json: bool) -> int:
    """Show how a job and its tasks stand.

    JOB is a job's name, user~name, or its Slurm id. For an exit code that tells a failure: `wait`.
    """
    view = look_at(store().find(job, user=user_name()))
    if as_json:
        put_json(view_dict(view))
    else:
        put_view(view)
    if view.problem:
        say(f"this is what was known last: {view.problem}")
    for damage in view.damage:
        say(f"warning: {damage}")
    return 0
