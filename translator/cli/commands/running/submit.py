"""`paislurm submit`: compile a job file and submit it to a backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...job_file_options import optional_job_file
from ...options import examples, pass_session
from ...output.console import log, print_json
from ...submit_options import submit_options

if TYPE_CHECKING:
    from ....app.input.source import Source
    from ....app.session import Session
    from ...submit_options import SubmitOptions


@click.command(
    epilog=examples(
        "paislurm submit job.yaml",
        "paislurm submit job.yaml --suffix -2 --set lr=0.1 --follow",
        "paislurm submit job.yaml --wait && echo it worked",
        "paislurm submit job.yaml --test-only                 # when would it start?",
        "paislurm submit job.yaml --sweep lr=0.1,0.01 --sweep seed=1..5",
        "paislurm submit next.yaml --after my-job",
        "paislurm submit job.yaml --backend local --follow    # on this machine, without Slurm",
        "paislurm submit job.yaml --host login1               # from your own machine",
        "paislurm submit --again my-job --suffix -2 --set lr=0.2",
    )
)
@optional_job_file
@submit_options
@pass_session
def command(session: Session, source: Source, options: SubmitOptions) -> int:
    """Compile a job file and submit it.

    FILE is a job file, or - for standard input. The job gets a folder in $PAISLURM_HOME. The second job of a
    name is NAME@2, the next one NAME@3, and NAME is the newest. A job is refused until the last one of its name has
    ended.

    --again compiles the job file of JOB again, with the same parameters, suffix, site profile, backend and host;
    options on the command line override them. Secrets are read again from their source, or from --secrets.

    --sweep submits a group of jobs, each with a different suffix to its name; jobs that exist already are not
    submitted again, unless they failed and --failed is given. A job with --after is submitted when the other jobs
    have ended, including their retries.

    --test-only shows when Slurm would start the job if it were submitted now, or why it would wait. It calls `sbatch
    --test-only` and sinfo. A job that Slurm would reject is an error, as without the option.

    Ctrl-C stops the waiting, not the job.
    """
    from ...output.estimate import print_estimate
    from ...progress.submitted import print_submitted, wait_for_submitted

    source = options.source(session, source)
    if options.sweep:
        from ...progress.submitted import sweep_command

        return sweep_command(session, source, options)
    if options.test_only:
        found = session.jobs.estimate(source, after=options.after)
        if options.as_json:
            print_json(found)
        else:
            print_estimate(found)
        return 0
    submitted = session.jobs.submit(source, after=options.after, dry_run=options.dry_run).submitted
    assert submitted is not None
    if options.dry_run or not (options.wait or options.follow):
        print_submitted(submitted, as_json=options.as_json)
        return 0
    log(f"{submitted.text}, in {submitted.folder.path}")
    return wait_for_submitted(session, submitted, follow=options.follow, as_json=options.as_json)
