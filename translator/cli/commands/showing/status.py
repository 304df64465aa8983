"""`paislurm status`: the state of jobs and their tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import TASK_STATES, asks_for_several, examples, jobs_arguments, json_option, pass_session, states_option

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
@click.option("--cost", is_flag=True, help="Show the CPU, GPU and node hours by their use, from Slurm's accounting.")
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
    from ...output.several import print_one_or_several, print_several
    from ...output.tables import print_cost, print_usages
    from ...output.task_table import TaskFilter
    from ...output.views import print_view

    polled = session.jobs.poll(*jobs, last=last or not jobs, cost=cost, usage=usage)
    wanted = TaskFilter(states=(*states, *(["FAILED"] if failed else [])), patterns=patterns)
    if as_json:
        print_one_or_several(polled.jobs(wanted.chosen), many=asks_for_several(jobs, last=last))
    elif len(polled.lines) > 1:
        print_several(session, polled, wanted)
    else:
        print_view(polled.jobs()[0], session.now(), wanted, every=every, ports=ports)
    if not as_json:
        print_usages([line.name for line in polled.lines], polled.usages)
        print_cost(polled.uses)
    polled.say_doubts()
    return 0
