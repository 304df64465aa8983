"""`paislurm wait`: wait for the end of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import WholeNumber, asks_for_several, examples, jobs_arguments, json_option, pass_session

if TYPE_CHECKING:
    from ....app.session import Session


@click.command(
    epilog=examples(
        "paislurm wait my-job && paislurm submit next.yaml", "paislurm wait 'train-*'", "paislurm wait 1234 --json"
    )
)
@jobs_arguments
@click.option("--any", "first", is_flag=True, help="Wait until one of the jobs has ended.")
@click.option(
    "--timeout",
    type=WholeNumber(min=0),
    metavar="SECONDS",
    help="Stop waiting after this time, with exit code 124; 0 checks once.",
)
@json_option
@pass_session
def command(
    session: Session, jobs: tuple[str, ...], *, last: bool, first: bool, timeout: int | None, as_json: bool
) -> int:
    """Wait for the end of jobs. The exit code is 0 if all succeeded, 124 after --timeout, else 1.

    JOB is a job's name, user~name, its Slurm id, or a pattern such as 'train-*'. Default: your last job. Ctrl-C stops
    the waiting, not the jobs.
    """
    from ...output.several import exit_code, print_one_or_several
    from ...progress.shown import log_ends

    selected = session.jobs.select(*jobs, last=last or not jobs)
    ended = log_ends(session, selected.folders, selected.groups, first=first, quiet=as_json, timeout=timeout)
    if as_json:
        print_one_or_several(ended, many=len(selected.folders) > 1 or asks_for_several(jobs, last=last))
    return max(map(exit_code, ended))
