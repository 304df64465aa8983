"""`paislurm logs`: what the tasks print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import examples, job_argument, json_option
from ...output.console import log, print_json

if TYPE_CHECKING:
    from ....state.history import History
    from ....state.job_folder import JobFolder
    from ...jobs.follow_logs import LogSelection


@click.command(
    epilog=examples(
        "paislurm logs my-job",
        "paislurm logs -f my-job worker-0",
        "paislurm logs my-job worker --stderr --tail 20",
        "paislurm logs my-job --batch",
    )
)
@job_argument
@click.argument("tasks", metavar="[ROLE[-INDEX]]", required=False)
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@click.option(
    "--stderr", is_flag=True, help="Standard error instead of standard output; a site can have one file for both."
)
@click.option("--runtime", is_flag=True, help="What prerequisites and plugins print, instead of the commands.")
@click.option("--attempt", type=click.IntRange(min=0), metavar="N", help="Of the job's attempt N; default: the last.")
@click.option(
    "--task-attempt",
    type=click.IntRange(min=0),
    metavar="N",
    help="Of the task's attempt N; default: the newest.",
)
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines of each task.")
@click.option("--batch", is_flag=True, help="What the batch script itself says, instead of the tasks.")
@json_option
def command(
    job: str,
    tasks: str | None,
    *,
    follow: bool,
    stderr: bool,
    runtime: bool,
    attempt: int | None,
    task_attempt: int | None,
    tail: int | None,
    batch: bool,
    as_json: bool,
) -> int:
    """Show what the tasks of a job print: as it is for one task, under the tasks' names for several.

    JOB is a job's name, user~name, or its Slurm id. With --json: which files there are, not what is in them.
    A terminal is shown escape sequences as text; a pipe or a file gets everything as it was printed.
    """
    from ...context import store, user_name
    from ...jobs.failure import failure_of
    from ...jobs.follow_logs import LogSelection, bring_logs, follow_job, show_file, show_once
    from ...output.exit_status import log_ending

    if follow and (as_json or batch):
        raise click.UsageError("--follow shows the logs of tasks: it goes neither with --json nor with --batch")
    if stderr and runtime:
        raise click.UsageError(
            "--stderr shows the standard error of the commands, --runtime what prerequisites and plugins print"
        )
    folder = store().find(job, user=user_name())
    known = folder.history()
    selection = LogSelection(
        tasks=tasks,
        stream="runtime" if runtime else "stderr" if stderr else "stdout",
        attempt=attempt,
        task_attempt=task_attempt,
        tail=tail,
    )
    if as_json:
        print_json({"files": _files(folder, known, selection)})
    elif batch:
        bring_logs(folder, known, selection)
        log = folder.batch_log(known.attempt if attempt is None else attempt)
        if not show_file(log, tail, folder.path.stat().st_uid):
            _log_nothing_yet(folder)
    elif follow:
        view = follow_job(folder, selection)
        log_ending(view, failure_of(view))
    elif not show_once(folder, known, selection):
        _log_nothing_yet(folder)
    return 0


def _files(folder: JobFolder, known: History, selection: LogSelection) -> list[dict[str, object]]:
    from ...jobs.follow_logs import task_logs

    return [
        {
            "task": log.label,
            "role": log.role,
            "index": log.index,
            "task_attempt": log.task_attempt,
            "stream": log.stream,
            "file": str(log.path),
            "exists": log.path.is_file(),
        }
        for log in task_logs(folder, known, selection)
    ]


def _log_nothing_yet(folder: JobFolder) -> None:
    """Say why there is nothing to show."""
    from ...jobs.refresh import refresh

    job_status = refresh(folder).job_status
    if job_status.ended:
        log(f"nothing was printed; {folder.name} {job_status.state}: {job_status.reason}")
    else:
        reason = f" ({job_status.reason})" if job_status.reason else ""
        log(f"nothing is printed yet: {folder.name} is {job_status.state}{reason}")
