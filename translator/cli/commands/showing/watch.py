"""`paislurm watch`: a live view of jobs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ...options import examples, json_option, pass_session
from ...output.console import print_json_line, print_result, takes_a_screen
from ...shell import candidates

if TYPE_CHECKING:
    from ....app.session import Session


@click.command(
    epilog=examples("paislurm watch", "paislurm watch my-job", "paislurm watch 'sweep-*'", "paislurm watch --once")
)
@click.argument("jobs", metavar="[JOB]...", nargs=-1, shell_complete=candidates.jobs_and_groups)
@click.option(
    "--once",
    is_flag=True,
    help="Print the contents of the screen once, and exit; with --json, one line for each job.",
)
@json_option
@pass_session
def command(session: Session, jobs: tuple[str, ...], *, once: bool, as_json: bool) -> int:
    """Show the state of jobs, live: all jobs that have not ended, or the JOBs.

    On a terminal, keys show tasks and logs, open a shell and cancel jobs: ? lists the keys, q quits. In a pipe, and
    with --json, each change is a line; the command exits when all jobs have ended. Ctrl-C stops the view, not the
    jobs.
    """
    from ...output.job_list import change_text, log_nothing_left

    if not as_json and (once or takes_a_screen(sys.stdin, sys.stdout)):
        from ...screen.app import print_screen, show_screen

        names = session.jobs.select(*jobs).names
        if not once:
            return show_screen(session, names)
        print_screen(session, names)
        return 0
    any_job = False
    for line in session.jobs.watch(*jobs, once=once):
        any_job = True
        if as_json:
            print_json_line(line)
        else:
            print_result(change_text(line, session.now()))
    if not any_job:
        log_nothing_left()
    return 0
