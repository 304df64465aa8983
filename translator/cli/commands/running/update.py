"""`paislurm update`: change waiting or running jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....cli.job_file_options import slurm_options
from ....terminal_text import one_line
from ...options import WholeNumber, asks_for_several, examples, jobs_arguments, json_option, pass_session
from ...output.console import print_json, print_result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....app.session import Session

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
@click.option("--nice", type=WholeNumber(0), metavar="NUMBER", help="Lower the job's priority by NUMBER.")
@click.option("--hold", is_flag=True, help="Keep a waiting job from starting.")
@click.option("--release", is_flag=True, help="Let a held job start.")
@click.option(
    "--retries", type=WholeNumber(0, MAX_RETRIES), metavar="NUMBER", help="Total number of retries (jobRetryCount)."
)
@json_option
@pass_session
def command(
    session: Session,
    jobs: tuple[str, ...],
    *,
    last: bool,
    slurm: Mapping[str, str],
    nice: int | None,
    hold: bool,
    release: bool,
    retries: int | None,
    as_json: bool,
) -> int:
    """Change waiting or running jobs.

    JOB is a job's name, user~name, its Slurm id, a group, or a pattern such as 'train-*'. Default: your last job.
    Changes that Slurm accepts also apply to later attempts of the job. For a running job, Slurm lets users lower the
    time limit, but not change the partition or the account.

    Commands, images, tasks and their resources cannot be changed: change the job file and submit it again.
    """
    from ....app.jobs.updating import UpdatedJobs

    if hold and release:
        raise click.UsageError("--hold cannot be used with --release")
    held = hold if hold or release else None
    done = session.jobs.update(*jobs, last=last or not jobs, slurm=slurm, nice=nice, held=held, retries=retries)
    if as_json:
        several = len(done) > 1 or asks_for_several(jobs, last=last)
        print_json(UpdatedJobs(jobs=tuple(done)) if several else done[0])
        return 0
    for each in done:
        print_result(one_line(each.message))
    return 0
