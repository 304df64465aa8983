"""`paislurm submit`: compile a job file and hand it to a backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...input.job_input import job_file
from ...options import examples, json_option
from ...output.console import escape_control, log, print_json, print_result

if TYPE_CHECKING:
    from ...input.job_input import Source
    from ...submit.submit import Submitted


@click.command(
    epilog=examples(
        "paislurm submit job.yaml",
        "paislurm submit job.yaml --suffix -2 --set lr=0.1 --follow",
        "paislurm submit job.yaml --wait && echo it worked",
        "paislurm submit job.yaml --backend local --follow    # on this machine, without Slurm",
        "paislurm submit job.yaml --host login1               # from your own machine",
    )
)
@job_file
@click.option("--backend", default="slurm", metavar="NAME", help="slurm (default), pyslurm, slurmrestd, auto or local.")
@click.option("--host", metavar="HOST", help="Submit at this login node, by SSH: HOST, USER@HOST or USER@HOST:PORT.")
@click.option("--wait", is_flag=True, help="Wait for the end; exit code 1 if the job did not succeed.")
@click.option("--follow", is_flag=True, help="Show what the tasks print until the end; exit code as --wait.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@json_option
def command(
    source: Source,
    backend: str,
    *,
    host: str | None,
    wait: bool,
    follow: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Compile a job file and submit it.

    FILE is a job file, or - for standard input. The job gets a folder in $PAISLURM_HOME. A finished job of
    the same name is kept as NAME.1, NAME.2 and so on; one that has not ended is not replaced.

    Ctrl-C while waiting leaves the job alone.
    """
    from dataclasses import replace

    from ...submit.submit import submit

    if follow and as_json:
        raise click.UsageError("--follow prints logs, --json one document: use --wait --json")
    if host is not None and backend != "slurm":
        raise click.UsageError(f"--host is for Slurm, and goes not with --backend {backend}")
    submitted = submit(replace(source, backend=backend, host=host), dry_run=dry_run)
    if dry_run:
        if as_json:
            print_json(submitted.as_dict())
        else:
            from ....planning.plan_text import plan_text

            print_result(escape_control(plan_text(submitted.compiled.plan)).rstrip("\n"))
            log(f"dry run: {submitted.folder.path} would be made, and its script submitted to {submitted.backend}")
        return 0
    if not (wait or follow):
        if as_json:
            print_json(submitted.as_dict())
        else:
            print_result(f"{submitted.folder.name} is job {submitted.job_id}")
            log(f"watch it: paislurm status {submitted.job}; paislurm logs -f {submitted.job}")
        return 0
    log(f"{submitted.folder.name} is job {submitted.job_id}, in {submitted.folder.path}")
    return _wait(submitted, follow=follow, as_json=as_json)


def _wait(submitted: Submitted, *, follow: bool, as_json: bool) -> int:
    """Wait for the end of a job, and return what its end is worth."""
    from ...jobs.logs.follow import follow_job
    from ...jobs.waiting import wait_for_end
    from ...output.exit_status import exit_code, log_ending
    from ...output.views import end_dict

    max_age = submitted.compiled.site.monitor.max_poll_interval
    folder = submitted.folder
    view = follow_job(folder, max_age=max_age) if follow else wait_for_end(folder, max_age=max_age)
    if as_json:
        print_json(submitted.as_dict() | end_dict(view))
    log_ending(view)
    return exit_code(view)
