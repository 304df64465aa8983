"""`paislurm report`: a page about a job, or one that compares several."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....terminal_text import one_line
from ...options import examples, jobs_arguments, json_option, pass_session
from ...output.console import log, print_json, print_result
from ...shell.candidates import Group

if TYPE_CHECKING:
    from ....app.session import Session
    from ....state.job_folder import JobFolder


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
    from pathlib import Path

    from ....app.output_file import write_output
    from ....app.report.gather import job_reports
    from ....report.page import comparison_page, job_page

    folders = _folders(session, jobs, group, last=last)
    several = group is not None or len(folders) > 1
    reports = job_reports(session, folders, site=site, details=not several)
    page = comparison_page(reports, group or "") if several else job_page(reports[0])
    path = Path(output or f"{_name(folders, group)}.report.html")
    write_output(path, page.encode("utf-8", "backslashreplace"), is_named=output is not None)
    for report in reports:
        for note in report.notes:
            log(f"warning: {one_line(report.name)}: {note}")
    if as_json:
        print_json({"file": str(path)})
    else:
        print_result(one_line(str(path)))
    return 0


def _name(folders: list[JobFolder], group: str | None) -> str:
    """Return how the page is called: as its group or its job, in letters that any folder takes."""
    if group is None:
        return folders[0].name.partition("~")[2] if len(folders) == 1 else "jobs"
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in group).lstrip(".") or "group"


def _folders(session: Session, jobs: tuple[str, ...], group: str | None, *, last: bool) -> list[JobFolder]:
    from ....app.jobs.selecting import select
    from ...output.sweep_table import folders_of_group

    if group is None:
        return select(session.store, jobs, user=session.user, last=last)
    if jobs or last:
        raise click.UsageError("--group names the jobs: it goes neither with JOB nor with --last")
    return folders_of_group(session, group)
