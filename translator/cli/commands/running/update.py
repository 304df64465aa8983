"""`paislurm update`: change jobs that wait or run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....cli.job_file_options import slurm_options
from ....terminal_text import one_line
from ...command_group import OTHER_CHANGES
from ...options import WholeNumber, examples, jobs_arguments, json_option, pass_session
from ...output.console import log, print_json, print_result

if TYPE_CHECKING:
    from ....app.session import Session
    from ....app.update.updating import Done

MAX_RETRIES = 1_000_000


@click.command(
    epilog=examples(
        "paislurm update my-job --time 2:00:00",
        "paislurm update my-job --partition gpu2 --account lab",
        "paislurm update 'train-*' --hold               # and --release later",
        "paislurm update my-job --retries 3",
        "paislurm update --last --nice 100 --json",
    )
)
@jobs_arguments
@slurm_options
@click.option("--nice", type=WholeNumber(), metavar="NUMBER", help="By how much the job is put behind others.")
@click.option("--hold", is_flag=True, help="Keep a job that waits from beginning.")
@click.option("--release", is_flag=True, help="Let a job that is held begin.")
@click.option(
    "--retries",
    type=WholeNumber(0, MAX_RETRIES),
    metavar="NUMBER",
    help="How often the job is retried after a failure, in all (jobRetryCount).",
)
@json_option
@pass_session
def command(
    session: Session,
    jobs: tuple[str, ...],
    *,
    last: bool,
    time: str | None,
    partition: str | None,
    account: str | None,
    qos: str | None,
    nice: int | None,
    hold: bool,
    release: bool,
    retries: int | None,
    as_json: bool,
) -> int:
    """Change jobs that wait or run.

    JOB is a job's name, user~name, its Slurm id, a group, or a pattern as 'train-*'; without one it is the job that you
    submitted last. Slurm is asked at once, and what it takes also holds for later attempts of the job. Of a job that
    runs, Slurm lets users lower the time limit; its partition and account stay.

    Commands, images, tasks and their resources cannot be changed: change the job file and submit it again.
    """
    from ....app.jobs.cancelling import joined
    from ....app.jobs.selecting import asks_for_several, select
    from ....app.update.possible import values_of
    from ....app.update.updating import update_jobs

    if hold and release:
        raise click.UsageError("--hold and --release cannot go together")
    options = {"time": time, "partition": partition, "account": account, "qos": qos}
    values = values_of(options, nice=nice, held=hold if hold or release else None, retries=retries)
    if not values:
        raise click.UsageError(f"say what to change: --time, --partition, --retries ...\nhint: {OTHER_CHANGES}")
    folders = select(session.store, jobs, user=session.user, last=last)
    several = len(folders) > 1 or asks_for_several(jobs, last=last)
    done, errors = update_jobs(session, folders, values, several=several)
    if errors:
        for each in done:
            log(one_line(each.message))
        raise joined(errors)
    if as_json:
        documents = [_document(each) for each in done]
        print_json({"jobs": documents} if several else documents[0])
        return 0
    for each in done:
        print_result(one_line(each.message))
    return 0


def _document(done: Done) -> dict[str, object]:
    from ...output.change_rows import change_dict
    from ...output.views import end_dict

    return end_dict(done.view) | {"message": done.message, "changes": [change_dict(each) for each in done.changes]}
