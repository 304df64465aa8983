"""`paislurm logs`: what the tasks print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from ...log_options import check_together, log_options
from ...options import examples, json_option, pass_session
from ...output.console import log, print_json
from ...shell.candidates import JobThenTask

if TYPE_CHECKING:
    from ....app.jobs.logs.selection import LogSelection
    from ....app.session import Session


@click.command(
    epilog=examples(
        "paislurm logs                                  # your last job",
        "paislurm logs -f my-job worker-0",
        "paislurm logs my-job 'worker-[0-3]' ps --stderr -n 20",
        "paislurm logs --last worker-0 > worker-0.log",
        "paislurm logs 'sweep-*' --grep 'loss|error' -i",
        "paislurm logs my-job --batch",
    )
)
@click.argument("words", metavar="[JOB] [TASK]...", nargs=-1, type=JobThenTask())
@click.option("--last", is_flag=True, help="The job that you submitted last: all words are tasks.")
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@log_options
@click.option("--batch", is_flag=True, help="What the batch script itself says, instead of the tasks.")
@json_option
@pass_session
def command(
    session: Session,
    words: tuple[str, ...],
    *,
    last: bool,
    follow: bool,
    selection: LogSelection,
    batch: bool,
    as_json: bool,
) -> int:
    """Show what the tasks of a job print, standard output and standard error.

    JOB is a job's name, user~name, its Slurm id, or a pattern like 'sweep-*', whose jobs are each shown under their
    name; without one it is the job that you submitted last. TASK is a role, ROLE-INDEX, or a pattern like
    'worker-[0-3]'; without one it is all.

    One task is shown as it is: in a pipe or a file both streams, without any mark; a terminal shows standard error in
    red. Of several tasks each line is under its task's name, `worker-0 | ` or, of standard error, `worker-0 ! `.

    Logs have no times of their lines. So what is there already comes task by task, standard output before standard
    error; what comes with --follow, in the order in which it comes here. --since knows when a file was last written
    to, and no more.

    With --json: which files there are, not what is in them. A terminal is shown escape sequences as text; a pipe or
    a file gets everything as it was printed.
    """
    from ....app.jobs.logs.following import silence_text
    from ....app.jobs.logs.selection import jobs_and_tasks
    from ....app.jobs.logs.targets import log_files, targets
    from ...progress.follow import print_batch_logs, print_once, print_to_the_end

    check_together(selection, follow=follow, batch=batch, as_json=as_json)
    folders, tasks = jobs_and_tasks(session.store, words, user=session.user, last=last)
    selection = replace(selection, tasks=tasks)
    if follow:
        print_to_the_end(session, folders, selection)
        return 0
    jobs = targets(folders, selection)
    if as_json:
        print_json(log_files(jobs, selection))
    else:
        for silent in (print_batch_logs if batch else print_once)(session, jobs, selection):
            log(silence_text(session, silent))
    return 0
