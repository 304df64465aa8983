"""`paislurm submit`: compile a job file and hand it to a backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....cli.job_file_options import optional_job_file
from ....terminal_text import escape_control
from ...options import examples, json_option, pass_session
from ...output.console import log, print_json, print_result
from ...shell.candidates import Assignment, Backend, Job, JobOrGroup

if TYPE_CHECKING:
    from ....app.input.source import Source
    from ....app.session import Session
    from ....app.submit.submit import Submitted
    from ....state.records import Dependency


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
@click.option(
    "--again", metavar="JOB", type=Job(), help="In place of FILE: submit this job once more, with what it had."
)
@click.option("--backend", metavar="NAME", type=Backend(), help="slurm (default), pyslurm, auto or local.")
@click.option("--host", metavar="HOST", help="Submit at this login node, by SSH: HOST, USER@HOST or USER@HOST:PORT.")
@click.option("--wait", is_flag=True, help="Wait for the end; exit code 1 if the job did not succeed.")
@click.option("--follow", is_flag=True, help="Show what the tasks print until the end; exit code as --wait.")
@click.option(
    "--sweep",
    "sweep",
    multiple=True,
    metavar="NAME=VALUES",
    type=Assignment(),
    help="A job for each value of a parameter: 1,2,5 or 1..5 or 0..1..0.25; repeated: for each combination.",
)
@click.option("--yes", is_flag=True, help="Submit a sweep of more than 100 jobs.")
@click.option(
    "--after",
    "after",
    multiple=True,
    metavar="JOB[:END]",
    type=JobOrGroup(),
    help="Begin when JOB has succeeded, or with JOB:ended when it has ended in any way; can be repeated.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option(
    "--test-only",
    is_flag=True,
    help="Ask Slurm when it would start and which GPUs are free, and submit nothing.",
)
@json_option
@pass_session
def command(
    session: Session,
    source: Source,
    backend: str | None,
    *,
    again: str | None,
    host: str | None,
    wait: bool,
    follow: bool,
    sweep: tuple[str, ...],
    yes: bool,
    after: tuple[str, ...],
    dry_run: bool,
    test_only: bool,
    as_json: bool,
) -> int:
    """Compile a job file and submit it.

    FILE is a job file, or - for standard input. The job gets a folder in $PAISLURM_HOME. A finished job of
    the same name is kept as NAME.1, NAME.2 and so on; one that has not ended is not replaced.

    With --again the job file as JOB had it is compiled, with the parameters, the suffix, the site profile, the
    backend and the host of then; options that are given here go before. Secrets are read once more from where they
    were, or from --secrets.

    With --sweep it is a group of jobs, each with an ending of its own to its name; those that are there already are
    not submitted again. A job that waits for others (--after) is submitted when they have ended, retries and all.

    With --test-only Slurm says when the job would start if it were submitted now, and how many GPUs of its partitions
    are free: `sbatch --test-only`, sinfo and squeue. What Slurm would refuse is an error as without it.

    Ctrl-C while waiting leaves the job alone.
    """
    from ....app.submit.submit import submit, taken_text

    if follow and as_json:
        raise click.UsageError("--follow prints logs, --json one document: use --wait --json")
    if host is not None and backend not in (None, "slurm"):
        raise click.UsageError(f"--host is for Slurm, and goes not with --backend {backend}")
    if test_only and (sweep or wait or follow or dry_run):
        raise click.UsageError(
            "--test-only submits nothing and is about one job: it goes not with --dry-run, --sweep, --wait or --follow"
        )
    source = _what_is_meant(session, source, again, backend, host)
    before = _jobs_before(session, after)
    if sweep:
        if follow:
            raise click.UsageError("--follow shows the logs of one job: `paislurm list --group` shows a sweep")
        from .sweep import sweep_command

        return sweep_command(session, source, sweep, dry_run=dry_run, after=before, yes=yes, wait=wait, as_json=as_json)
    if test_only:
        from ...output.estimate import show_start

        return show_start(session, source, before, as_json=as_json)
    submitted = submit(session, source, dry_run=dry_run, after=before)
    if dry_run:
        if as_json:
            print_json(submitted.as_dict())
        else:
            from ....planning.plan_text import plan_text

            print_result(escape_control(plan_text(submitted.compiled.plan)).rstrip("\n"))
            log(f"dry run: {submitted.folder.path} would be made, and its script submitted to {submitted.backend}")
            log("`--test-only` says when it would start")
        return 0
    if not (wait or follow):
        if as_json:
            print_json(submitted.as_dict())
        else:
            print_result(taken_text(submitted))
            log(f"watch it: paislurm status {submitted.job}; paislurm logs -f {submitted.job}")
        return 0
    log(f"{taken_text(submitted)}, in {submitted.folder.path}")
    return _wait(session, submitted, follow=follow, as_json=as_json)


def _what_is_meant(
    session: Session, source: Source, again: str | None, backend: str | None, host: str | None
) -> Source:
    """Return what is to be submitted: a job file, or what a job was submitted with."""
    from msgspec.structs import replace

    if again is None:
        if not source.file:
            raise click.UsageError("Missing argument 'FILE'.")
        return replace(source, backend=backend or "slurm", host=host)
    if source.file:
        raise click.UsageError("--again takes the job file that JOB had: leave FILE out")
    from ....app.runs.again import source_again

    return source_again(session, session.store.find(again, user=session.user), source, backend=backend, host=host)


def _jobs_before(session: Session, words: tuple[str, ...]) -> tuple[Dependency, ...]:
    if not words:
        return ()
    from ....app.submit.after import jobs_before

    return jobs_before(session, words)


def _wait(session: Session, submitted: Submitted, *, follow: bool, as_json: bool) -> int:
    """Wait for the end of a job, and return what its end is worth."""
    from ....app.jobs.failure import failure_of
    from ....app.jobs.folders.housekeeping import tidy_what_has_just_ended
    from ....app.jobs.waiting import wait_for_end
    from ...output.exit_status import exit_code, log_ending
    from ...output.views import end_dict
    from ...progress.follow import follow_job
    from ...progress.shown import ShownProgress

    max_age = submitted.compiled.site.monitor.max_poll_interval
    folder = submitted.folder
    view = (
        follow_job(session, folder, max_age=max_age)
        if follow
        else wait_for_end(session, folder, max_age=max_age, quiet=as_json, progress=ShownProgress([folder]))
    )
    failure = failure_of(session, view)
    if as_json:
        print_json(submitted.as_dict() | end_dict(view) | {"failure": failure.as_dict() if failure else None})
    log_ending(view, failure)
    tidy_what_has_just_ended(session, [view.folder])
    return exit_code(view)
