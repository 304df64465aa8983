"""`paislurm report`: an HTML page about a job, or a comparison of several."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....terminal_text import one_line
from ...options import examples, jobs_arguments, json_option, pass_session
from ...output.console import print_json, print_result
from ...shell import candidates

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
@click.option("--group", metavar="NAME", shell_complete=candidates.groups, help="Compare the jobs of a group.")
@click.option("-o", "--output", metavar="FILE", help="File to write. Default: JOB.report.html in this folder.")
@json_option
@pass_session
def command(
    session: Session,
    jobs: tuple[str, ...],
    group: str | None,
    output: str | None,
    *,
    last: bool,
    as_json: bool,
) -> int:
    """Write an HTML page about a job: the times of its attempts and tasks, its end and the reason, and its nodes.

    JOB is a job's name, user~name, its Slurm id, or a pattern. Default: your last job. For several jobs, the page
    compares them. The page is one file and needs no network: open it in a browser, or send it to somebody.
    """
    if group is not None and (jobs or last):
        raise click.UsageError("--group cannot be used with JOB or --last")
    written = session.jobs.report(*jobs, output=output, group=group, last=last or not jobs)
    if as_json:
        print_json(written)
    else:
        print_result(one_line(written.file))
    return 0
