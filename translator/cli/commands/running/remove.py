"""`paislurm remove`: remove the folders of jobs that have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import age, examples, json_option, pass_session, states_option
from ...output.console import log, log_diagnostics, print_json
from ...shell import candidates

if TYPE_CHECKING:
    from ....app.session import Session

ENDS = ("SUCCEEDED", "FAILED", "STOPPED")


@click.command(
    epilog=examples(
        "paislurm remove my-job",
        "paislurm remove my-job@2",
        "paislurm remove 'sweep-*' --state failed --yes",
        "paislurm remove --older-than 30d --dry-run",
    )
)
@click.argument("jobs", metavar="[JOB]...", nargs=-1, shell_complete=candidates.jobs_and_groups)
@click.option(
    "--older-than", metavar="AGE", callback=age, help="Only jobs that ended at least this long ago, such as `30d`."
)
@states_option("Only jobs that ended in this state", ENDS)
@click.option("--keep-logs", is_flag=True, help="Remove only working directories and code; keep records and logs.")
@click.option("--dry-run", is_flag=True, help="Print what would be removed, and remove nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@pass_session
def command(
    session: Session,
    jobs: tuple[str, ...],
    older_than: int | None,
    states: tuple[str, ...],
    *,
    keep_logs: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Remove jobs that have ended, with all files in their folders. This cannot be undone.

    JOB is a job's name, user~name, its Slurm id, a group, or a pattern such as 'sweep-*'. If a name was used several
    times, NAME is the newest job, NAME@1 the first and NAME@2 the second. Without JOB, --older-than or --state selects
    the jobs. A job that has not ended is refused: cancel it first.

    On a terminal, the command asks for confirmation before it removes more than one job. Without a terminal, --yes is
    required if a group, a pattern or an option selects the jobs.
    """
    from ...output.removal import RemovalTexts, is_sure

    found = session.jobs.to_remove(*jobs, older_than=older_than, states=states)
    if not dry_run and not is_sure([job.folder.name for job in found.jobs], by_name=found.by_name, yes=yes):
        log("nothing was removed")
        return 1
    texts = RemovalTexts(keep_logs=keep_logs, dry_run=dry_run)
    done, errors = session.jobs.remove_found(
        found, keep_logs=keep_logs, dry_run=dry_run, each=texts.log_left if as_json else texts.print
    )
    if as_json:
        print_json(done)
    else:
        texts.print_groups(done.removed, found.groups)
        if not found.jobs:
            log("no such jobs")
        log_diagnostics(done.diagnostics)
    return errors[-1].exit_code if errors else 0
