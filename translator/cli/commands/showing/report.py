"""`paislurm report`: a page about a job, or one that compares several."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....terminal_text import one_line
from ...options import examples, jobs_arguments, json_option, pass_session
from ...output.console import print_json, print_result
from ...shell.candidates import Group

if TYPE_CHECKING:
    from ....app.session import Session


@click.command(
    epilog=examples(
        "paislurm report my-job",
        "paislurm report my-job -o my-job.html",
        "paislurm report 'sweep-*' -o sweep.html",
        "paislurm report --group sweep",
    )
)
@jobs_arguments
@click.option("--group", metavar="NAME", type=Group(), help="The jobs of a group that were submitted together.")
@click.option("-o", "--output", metavar="FILE", help="Where the page goes; default: JOB.report.html here.")
@click.option("--site", metavar="FILE", help="The site profile that the job was submitted with, if it was named.")
@json_option
@pass_session
def command(
    session: Session,
    jobs: tuple[str, ...],
    group: str | None,
    output: str | None,
    site: str | None,
    *,
    last: bool,
    as_json: bool,
) -> int:
    """Write a page of HTML about a job: its attempts and tasks in time, how it ended and why, and where it ran.

    JOB is a job's name, user~name, its Slurm id, or a pattern; no JOB is the one that you submitted last. Of several
    jobs the page is a comparison. It is one file that needs no network: open it in a browser, or send it on.
    """
    from ....app.jobs.selecting import folders_of_group, select
    from ....app.report.write import write_report

    if group is not None and (jobs or last):
        raise click.UsageError("--group names the jobs: it goes neither with JOB nor with --last")
    folders = (
        select(session.store, jobs, user=session.user, last=last) if group is None else folders_of_group(session, group)
    )
    written = write_report(session, folders, output, group=group, site=site)
    if as_json:
        print_json(written)
    else:
        print_result(one_line(written.file))
    return 0
