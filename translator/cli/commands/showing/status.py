"""`paislurm status`: how jobs and their tasks stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import STATES, examples, jobs_arguments, json_option, pass_session, states_option
from ...output.console import print_json

if TYPE_CHECKING:
    from ....app.session import Session


@click.command(
    epilog=examples(
        "paislurm status",
        "paislurm status my-job --failed",
        "paislurm status my-job --task 'worker-*' --state running --tasks",
        "paislurm status 'train-*'",
        "paislurm status 1234 --json",
    )
)
@jobs_arguments
@click.option("--failed", is_flag=True, help="Of the tasks, those that failed.")
@states_option(STATES, "Of the tasks, those in this state")
@click.option("--task", "patterns", multiple=True, metavar="PATTERN", help="Of the tasks, those of a role or name.")
@click.option("--tasks", "--all-tasks", "every", is_flag=True, help="Show each task in a row of its own.")
@click.option("--ports", is_flag=True, help="Show the address and the ports of every task that has begun.")
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
    as_json: bool,
) -> int:
    """Show how a job and its tasks stand, or in short how several jobs do.

    JOB is a job's name, user~name, its Slurm id, a group, or a pattern as 'train-*'; without one it is the job that
    you submitted last. Many tasks that are alike share a row. More than five jobs have a row each, and below them
    stands why some failed. For an exit code that tells a failure: `wait`.
    """
    from ....app.jobs.refresh import say_doubts, views_of
    from ....app.jobs.selecting import asks_for_several, named_groups, select
    from ....app.results.failure import failure_of
    from ....app.views.of_poll import one_or_several
    from ...output.several import print_several
    from ...output.task_table import TaskFilter
    from ...output.views import print_view

    views = views_of(session, select(session.store, jobs, user=session.user, last=last))
    wanted = TaskFilter(states=(*states, *(["FAILED"] if failed else [])), patterns=patterns)
    if as_json:
        print_json(one_or_several(session, views, wanted.chosen, several=asks_for_several(jobs, last=last)))
    elif len(views) > 1:
        print_several(session, views, named_groups(session.store, jobs, user=session.user), wanted)
    else:
        print_view(views[0], failure_of(session, views[0]), session.now(), wanted, every=every, ports=ports)
    say_doubts(session, views)
    return 0
