"""`paislurm wait`: until jobs have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...options import pass_session

if TYPE_CHECKING:
    from ....app.session import Session

import click

from ...options import WholeNumber, examples, jobs_arguments, json_option
from ...output.console import print_json


@click.command(
    epilog=examples(
        "paislurm wait my-job && paislurm submit next.yaml", "paislurm wait 'train-*'", "paislurm wait 1234 --json"
    )
)
@jobs_arguments
@click.option("--any", "first", is_flag=True, help="Wait for the first of several jobs that ends.")
@click.option(
    "--timeout",
    type=WholeNumber(min=0),
    metavar="SECONDS",
    help="Stop waiting after so long, with exit code 124; 0 only looks.",
)
@json_option
@pass_session
def command(
    session: Session, jobs: tuple[str, ...], *, last: bool, first: bool, timeout: int | None, as_json: bool
) -> int:
    """Wait for the end of jobs. The exit code is 0 if all succeeded, else 1; 124 if --timeout was too short.

    JOB is a job's name, user~name, its Slurm id, or a pattern as 'train-*'; without one it is the job that you
    submitted last. Ctrl-C stops the waiting, not the jobs.
    """
    from ....app.jobs.failure import failure_of
    from ....app.jobs.selecting import asks_for_several, named_groups, select
    from ...output.exit_status import exit_code
    from ...output.views import view_dict
    from ...progress.ends import log_ends

    folders = select(session.store, jobs, user=session.user, last=last)
    groups = named_groups(session.store, jobs, user=session.user)
    views = log_ends(session, folders, groups, first=first, quiet=as_json, timeout=timeout)
    if as_json:
        documents = [view_dict(view, failure_of(session, view)) for view in views]
        print_json({"jobs": documents} if len(folders) > 1 or asks_for_several(jobs, last=last) else documents[0])
    return max(map(exit_code, views))
