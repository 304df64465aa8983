"""`paislurm wait`: until jobs have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import examples, jobs_arguments, json_option
from ...output.console import print_json

if TYPE_CHECKING:
    from ....monitor.poll import View


@click.command(
    epilog=examples(
        "paislurm wait my-job && paislurm submit next.yaml", "paislurm wait 'train-*'", "paislurm wait 1234 --json"
    )
)
@jobs_arguments
@click.option("--any", "first", is_flag=True, help="Wait for the first of several jobs that ends.")
@json_option
def command(jobs: tuple[str, ...], *, last: bool, first: bool, as_json: bool) -> int:
    """Wait for the end of jobs. The exit code is 0 if all succeeded, else 1.

    JOB is a job's name, user~name, its Slurm id, or a pattern as 'train-*'; without one it is the job that you
    submitted last. Ctrl-C stops the waiting, not the jobs.
    """
    from ...context import store, user_name
    from ...jobs.failure import failure_of
    from ...jobs.folders.housekeeping import tidy_what_has_just_ended
    from ...jobs.selecting import asks_for_several, select
    from ...jobs.waiting import known_ends, wait_for_ends
    from ...output.exit_status import exit_code, log_ending
    from ...output.views import view_dict

    def tell(view: View) -> None:
        log_ending(view, failure_of(view))

    folders = select(store(), jobs, user=user_name(), last=last)
    several = len(folders) > 1 or asks_for_several(jobs, last=last)
    ends = wait_for_ends(folders, first=first, told=tell if len(folders) > 1 else lambda _: None, quiet=as_json)
    views = known_ends(ends)
    if as_json:
        documents = [view_dict(view, failure_of(view)) for view in views]
        print_json({"jobs": documents} if several else documents[0])
    if len(folders) == 1:
        tell(views[0])
    tidy_what_has_just_ended(view.folder for view in views)
    return max(map(exit_code, views))
