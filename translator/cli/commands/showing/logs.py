"""`paislurm logs`: the output of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from ...log_options import check_together, log_options
from ...options import examples, json_option, pass_session
from ...output.console import log, print_json
from ...shell import candidates

if TYPE_CHECKING:
    from ....app.jobs.logs.selection import LogSelection
    from ....app.session import Session


@click.command(
    epilog=examples(
        "paislurm logs                                  # your last job",
        "paislurm logs -f my-job worker-0",
        "paislurm logs my-job 'worker-[0-3]' ps --stderr -n 20",
        "paislurm logs --last worker-0 > worker-0.log",
        "paislurm logs 'sweep-*' | grep -iE 'loss|error'",
        "paislurm logs my-job --batch",
    )
)
@click.argument("words", metavar="[JOB] [TASK]...", nargs=-1, shell_complete=candidates.job_then_tasks)
@click.option("--last", is_flag=True, help="Show your last job; all arguments are tasks.")
@click.option("-f", "--follow", is_flag=True, help="Print new output until the job has ended.")
@log_options
@click.option("--batch", is_flag=True, help="Show the output of the batch script instead of the tasks.")
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
    """Show the output of a job's tasks: standard output and standard error.

    JOB is a job's name, user~name, its Slurm id, or a pattern such as 'sweep-*'. Default: your last job. If several
    jobs match, their names label the output. TASK is a role, ROLE-INDEX, or a pattern such as 'worker-[0-3]'.
    Default: all tasks.

    The output of one task is printed unchanged, both streams together; a terminal shows standard error in red. With
    several tasks, each line starts with the task's name: `worker-0 | ` for standard output, `worker-0 ! ` for
    standard error.

    Logs do not record times. Existing output is printed task by task, standard output before standard error. With
    --follow, new output is printed in the order of its arrival. --since compares the time of a file's last write.

    --json lists the files, not their contents. A terminal shows escape sequences as text; a pipe or a file gets the
    unchanged bytes.
    """
    from ...progress.follow import print_batch_logs, print_once, print_to_the_end

    check_together(selection, follow=follow, batch=batch, as_json=as_json)
    folders, tasks = session.logs.jobs_and_tasks(words, last=last)
    selection = replace(selection, tasks=tasks)
    if follow:
        print_to_the_end(session, folders, selection)
        return 0
    jobs = session.logs.targets(folders, selection)
    if as_json:
        print_json(session.logs.files(jobs, selection))
    else:
        for silent in (print_batch_logs if batch else print_once)(session, jobs, selection):
            log(session.logs.silence_text(silent))
    return 0
