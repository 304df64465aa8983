"""`paislurm status`: how jobs and their tasks stand."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from ...options import STATES, NearChoice, examples, jobs_arguments, json_option, pass_session
from ...output.console import is_terminal, log, print_json, print_result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....app.session import Session
    from ....monitor.poll import View
    from ...output.task_table import TaskFilter


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
@click.option(
    "--state",
    "states",
    multiple=True,
    type=NearChoice(STATES),
    help="Of the tasks, those in this state; can be repeated.",
)
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
    from ....app.jobs.failure import failure_of
    from ....app.jobs.refresh import refresh_all
    from ....app.jobs.selecting import asks_for_several, named_groups, select
    from ....monitor.poll import open_job
    from ...output.task_table import TaskFilter
    from ...output.views import print_view, view_dict

    folders = select(session.store, jobs, user=session.user, last=last)
    wanted = TaskFilter(states=(*states, *(["FAILED"] if failed else [])), patterns=patterns)
    views = refresh_all(session, [open_job(folder) for folder in folders])
    several = len(views) > 1 or asks_for_several(jobs, last=last)
    if as_json:
        documents = [view_dict(view, failure_of(session, view), wanted) for view in views]
        print_json({"jobs": documents} if several else documents[0])
    elif len(views) > 1:
        _print_several(session, views, named_groups(session.store, jobs, user=session.user), wanted)
    else:
        print_view(views[0], failure_of(session, views[0]), session.now(), wanted, every=every, ports=ports)
    _say_more(session, views)
    return 0


def _print_several(
    session: Session, views: Sequence[View], groups: Mapping[str, Sequence[str]], wanted: TaskFilter
) -> None:
    """Print a few jobs in short, or many in a row each, and how many of them, or of each group, are in each state.

    Where not all tasks are wanted, only jobs that have some of those are.
    """
    from ....app.jobs.failure import failure_of
    from ....app.jobs.listing import line_of
    from ...output.several import A_FEW, print_few, print_many, total_texts

    if wanted.states or wanted.patterns:
        views, groups = [view for view in views if wanted.chosen(view.tasks)], {}
    if not views:
        log("no job has such tasks")
        return
    if len(views) <= A_FEW:
        print_few(views, session.now(), partial(failure_of, session))
    else:
        by_name = {view.folder.name: view for view in views}
        fit = is_terminal(sys.stdout)
        print_many(
            [line_of(view) for view in views], session.now(), lambda name: failure_of(session, by_name[name]), fit=fit
        )
    if groups or len(views) > A_FEW:
        print_result("\n" + "\n".join(total_texts(views, groups)))


def _say_more(session: Session, views: Sequence[View]) -> None:
    """Say what is not known of jobs, and why."""
    if any(not view.job_status.ended for view in views):
        from ....app.jobs.rounds import warn_of_overdue_round

        warn_of_overdue_round(session)
    for error in dict.fromkeys(view.backend_error for view in views if view.backend_error):
        log(f"this is what was known last: {error}")
    for view in views:
        which = f"{view.folder.name}: " if len(views) > 1 else ""
        for read_error in view.read_errors:
            log(f"warning: {which}{read_error}")
