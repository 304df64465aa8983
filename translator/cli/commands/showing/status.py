"""`paislurm status`: the state of jobs and their tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import TASK_STATES, examples, jobs_arguments, json_option, pass_session, states_option
from ...output.console import print_json

if TYPE_CHECKING:
    from ....app.session import Session


@click.command(
    epilog=examples(
        "paislurm status my-job --task 'worker-*' --state running --tasks",
        "paislurm status 'train-*' --cost --usage",
    )
)
@jobs_arguments
@click.option("--failed", is_flag=True, help="Show only tasks that failed.")
@states_option("Show only tasks in this state", TASK_STATES)
@click.option(
    "--task", "patterns", multiple=True, metavar="PATTERN", help="Show only tasks whose role or name matches."
)
@click.option("--tasks", "--all-tasks", "every", is_flag=True, help="Show one row for each task.")
@click.option("--ports", is_flag=True, help="Show the address and the ports of every task that has started.")
@click.option("--cost", is_flag=True, help="Show the node and GPU hours by their use, from Slurm's accounting.")
@click.option("--usage", is_flag=True, help="Show the CPU, memory and GPU use of running tasks, from Slurm's sstat.")
@json_option
@pass_session
def command(
    session: Session,
    jobs: tuple[str, ...],
    states: tuple[str, ...],
    patterns: tuple[str, ...],
    *,
    last: bool,
    failed: bool,
    every: bool,
    ports: bool,
    cost: bool,
    usage: bool,
    as_json: bool,
) -> int:
    """Show the state of a job and its tasks, or a summary of several jobs.

    JOB is a job's name, user~name, its Slurm id, a group, or a pattern such as 'train-*'. Default: your last job.
    Similar tasks of a large job share a row. More than five jobs get one row each, and the reasons of failures. The
    exit code does not show whether a job failed; use `wait` for that.
    """
    from ....app.job_view import job_view, one_or_several
    from ....app.jobs.refresh import say_doubts, views_of
    from ....app.jobs.selecting import asks_for_several, named_groups, select
    from ....app.jobs.several import Several
    from ....app.report.gather import uses_of_jobs
    from ....app.usage import usages_of_jobs
    from ...output.several import print_several
    from ...output.tables import print_cost, print_usages
    from ...output.task_table import TaskFilter
    from ...output.views import print_view

    views = views_of(session, select(session.store, jobs, user=session.user, last=last))
    wanted = TaskFilter(states=(*states, *(["FAILED"] if failed else [])), patterns=patterns)
    uses = uses_of_jobs(session, views) if cost else []
    usages = usages_of_jobs(session, views) if usage else []
    if as_json:
        print_json(one_or_several(session, views, wanted.chosen, uses, usages, many=asks_for_several(jobs, last=last)))
    elif len(views) > 1:
        print_several(session, Several(session, views), named_groups(session.store, jobs, user=session.user), wanted)
    else:
        print_view(job_view(session, views[0]), session.now(), wanted, every=every, ports=ports)
    if not as_json:
        print_usages([view.folder.name for view in views], usages)
        print_cost(uses)
    say_doubts(session, views)
    return 0
