"""`paislurm list`: all jobs in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import WholeNumber, examples, json_option, pass_session, since_time, states_option
from ...output.console import log
from ...shell.candidates import columns as column_names
from ...shell.candidates import groups, jobs_and_groups

if TYPE_CHECKING:
    from ....app.session import Session


@click.command(
    epilog=examples(
        "paislurm list 'train-*' --state running --state waiting",
        "paislurm list --since 2d --sort -elapsed --columns name,state,elapsed,nodes",
        "paislurm list --group my-sweep",
    )
)
@click.argument("words", metavar="[JOB]...", nargs=-1, shell_complete=jobs_and_groups)
@click.option("--all", "everything", is_flag=True, help="Include earlier jobs whose name was used again.")
@states_option("Only jobs in this state")
@click.option("--group", metavar="GROUP", shell_complete=groups, help="Show the jobs of a sweep, with parameters.")
@click.option(
    "--since",
    callback=since_time,
    metavar="TIME",
    help="Only jobs submitted since then: `1h30m` ago, or a time.",
)
@click.option(
    "--limit", type=WholeNumber(min=0), metavar="N", help="Show at most N jobs; 0 shows all. Default on a terminal: 30."
)
@click.option(
    "--sort", "by", metavar="COLUMN", shell_complete=column_names, help="Sort by a column; -COLUMN: the largest first."
)
@click.option(
    "--columns", metavar="A,B,...", shell_complete=column_names, help="Show these columns; an unknown name prints all."
)
@json_option
@pass_session
def command(
    session: Session,
    words: tuple[str, ...],
    states: tuple[str, ...],
    group: str | None,
    since: int | None,
    limit: int | None,
    by: str | None,
    columns: str | None,
    *,
    everything: bool,
    as_json: bool,
) -> int:
    """List your jobs, the newest first.

    JOB is a job's name, user~name, its Slurm id, or a pattern such as 'train-*'. Default: all jobs. The name of a
    sweep works like --group: its jobs come in the order of their parameters, which are columns, too. A terminal shows
    the newest 30 jobs, and long cells are cut; a pipe and --json get all jobs uncut.
    """
    from ....app.jobs.listing import JobFilter
    from ...output.job_list import Table, print_jobs

    if group is None and len(words) == 1:
        group = next(iter(session.jobs.select(*words).groups), None)
    wanted = JobFilter(words=words, group=group, states=states, since=since, everything=everything)
    found = session.jobs.listed(wanted)
    print_jobs(session, found.lines, Table(columns, by, limit), group=group, as_json=as_json)
    if not (found.lines or as_json):
        log("no such jobs" if states or since is not None else f"no jobs in {session.store.jobs}")
    session.jobs.say_doubts(found)
    return 0
