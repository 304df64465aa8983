"""`paislurm logs`: what the tasks print."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import click

from ....times import MOMENTS, moment
from ...options import WholeNumber, examples, json_option, pass_session
from ...output.console import log, print_json
from ...shell.candidates import JobThenTask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....app.jobs.logs.selection import LogSelection
    from ....app.jobs.logs.targets import Target
    from ....app.session import Session
    from ....state.job_folder import JobFolder


def _attempt(_: click.Context, __: click.Parameter, value: str | None) -> int | str | None:
    if value is None or value == "all":
        return value
    if not value.isascii() or not value.isdecimal() or len(value) > 9:
        raise click.BadParameter(f"{value} is no number of an attempt, and is not `all`")
    return int(value)


def _since(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    found = None if value is None else moment(value, time.time())
    if value is not None and found is None:
        raise click.BadParameter(f"{value!r} is no time: it is {MOMENTS}")
    return found


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
@click.option("--stdout", is_flag=True, help="Standard output alone.")
@click.option("--stderr", is_flag=True, help="Standard error alone; a site can have one file for both.")
@click.option("--runtime", is_flag=True, help="What prerequisites and plugins print, instead of the commands.")
@click.option("-n", "--tail", type=WholeNumber(min=0), metavar="N", help="Only the last N lines of each stream.")
@click.option(
    "--since",
    callback=_since,
    metavar="TIME",
    help="Leave out what was last written to before: 10m or 2h ago, or a time, 14:00 or 2026-11-23T14:00.",
)
@click.option("--grep", metavar="REGEX", help="Only lines in which a regular expression of Python's is found.")
@click.option("-i", "--ignore-case", is_flag=True, help="Of --grep: large and small letters are alike.")
@click.option(
    "--timestamps",
    is_flag=True,
    help="When each line came here; of what was there already `<=` and when its file was last written to.",
)
@click.option("--attempt", callback=_attempt, metavar="N|all", help="Of the job's attempt N; default: the last.")
@click.option(
    "--task-attempt",
    type=WholeNumber(min=0),
    metavar="N",
    help="Of the task's attempt N; default: the newest.",
)
@click.option("--batch", is_flag=True, help="What the batch script itself says, instead of the tasks.")
@json_option
@pass_session
def command(
    session: Session,
    words: tuple[str, ...],
    *,
    last: bool,
    follow: bool,
    stdout: bool,
    stderr: bool,
    runtime: bool,
    tail: int | None,
    since: float | None,
    grep: str | None,
    ignore_case: bool,
    timestamps: bool,
    attempt: int | str | None,
    task_attempt: int | None,
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
    from ....app.jobs.failure import failure_of
    from ....app.jobs.logs.selection import LogSelection, jobs_and_tasks
    from ....app.jobs.logs.targets import targets
    from ...output.exit_status import log_ending
    from ...progress.follow import follow_jobs, show_once

    if follow and (as_json or batch):
        raise click.UsageError("--follow shows the logs of tasks: it goes neither with --json nor with --batch")
    if batch and (since is not None or grep is not None or timestamps or attempt == "all"):
        raise click.UsageError("--batch goes with --tail and a single --attempt alone")
    if as_json and (grep is not None or timestamps):
        raise click.UsageError("--json tells of files: it goes neither with --grep nor with --timestamps")
    folders, tasks = jobs_and_tasks(session.store, words, user=session.user, last=last)
    selection = LogSelection(
        tasks=tasks,
        streams=_streams(stdout=stdout, stderr=stderr, runtime=runtime),
        attempt=attempt if isinstance(attempt, int) else None,
        all_attempts=attempt == "all",
        task_attempt=task_attempt,
        tail=tail,
        since=since,
        grep=_expression(grep, ignore_case=ignore_case),
        timestamps=timestamps,
    )
    if follow:
        for view in follow_jobs(session, folders, selection):
            log_ending(view, failure_of(session, view))
        return 0
    jobs = targets(folders, selection)
    if as_json:
        from ....app.jobs.logs.targets import log_files

        print_json({"files": [file for job in jobs for file in log_files(job, selection)]})
    elif batch:
        _log_nothing_yet(session, _show_batch_logs(session, jobs, selection))
    else:
        _log_nothing_yet(session, show_once(session, jobs, selection))
    return 0


def _streams(*, stdout: bool, stderr: bool, runtime: bool) -> tuple[str, ...]:
    from ....app.jobs.logs.selection import BOTH

    if not runtime:
        return ("stdout",) if stdout and not stderr else ("stderr",) if stderr and not stdout else BOTH
    if stdout or stderr:
        raise click.UsageError(
            "--stdout and --stderr show what the commands print, --runtime what prerequisites and plugins print"
        )
    return ("runtime",)


def _expression(text: str | None, *, ignore_case: bool) -> re.Pattern[str] | None:
    if text is None:
        if ignore_case:
            raise click.UsageError("--ignore-case is of --grep")
        return None
    try:
        return re.compile(text, re.IGNORECASE if ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise click.BadParameter(f"{text} is no regular expression: {error}", param_hint="--grep") from None


def _show_batch_logs(session: Session, jobs: Sequence[Target], selection: LogSelection) -> list[JobFolder]:
    """Print what the batch scripts of jobs say, and return those that say nothing."""
    from ....app.jobs.logs.targets import bring_logs
    from ...progress.follow import show_file

    silent: list[JobFolder] = []
    for job in jobs:
        bring_logs(session, job, selection)
        if len(jobs) > 1:
            log(f"{job.folder.name}:")
        path = job.folder.batch_log(selection.first_attempt(job.known))
        if not show_file(path, selection.tail, job.folder.path.stat().st_uid):
            silent.append(job.folder)
    return silent


def _log_nothing_yet(session: Session, folders: Sequence[JobFolder]) -> None:
    """Say of each job why there is nothing to show."""
    from ....app.jobs.refresh import refresh

    for folder in folders:
        job_status = refresh(session, folder).job_status
        if job_status.ended:
            log(f"nothing was printed; {folder.name} {job_status.state}: {job_status.reason}")
        else:
            reason = f" ({job_status.reason})" if job_status.reason else ""
            log(f"nothing is printed yet: {folder.name} is {job_status.state}{reason}")
