"""`paislurm monitor`: record the ends of the user's jobs and submit retries."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import click

from ...options import examples, json_option, pass_session
from ...output.console import print_json
from ...shell import candidates

if TYPE_CHECKING:
    from ....app.session import Session


@click.command(
    epilog=examples("paislurm monitor", "paislurm monitor --once", "paislurm monitor --calls")
    + "\n\n\b\nIf the login node allows no background processes, use cron or scrontab:"
    "\n  */5 * * * * paislurm monitor --once"
)
@click.argument("job", metavar="[JOB]", required=False, shell_complete=candidates.jobs)
@click.option("--calls", "as_calls", is_flag=True, help="Show the calls to Slurm of the last 24 hours, and exit.")
@click.option("--once", is_flag=True, help="Poll all jobs once, submit the retries that are due, and exit.")
@click.option("--site", metavar="FILE", help="The site profile for all jobs. Default: each job's own.")
@json_option
@pass_session
def command(session: Session, site: str | None, job: str | None, *, as_calls: bool, once: bool, as_json: bool) -> int:
    """Monitor your jobs: record how they end, and submit the retries that are due.

    The monitor checks the folders of jobs each second. It polls Slurm for all jobs at once every three minutes, or at
    the interval of the site profile, and sooner if a folder shows a change. --calls shows the calls to Slurm of all
    commands.

    Each job uses the notifier and the limits of the site profile with which it was submitted. --site overrides it for
    all jobs.

    The monitor exits when no job is left. `submit` starts one in the background if the site allows it; if several run,
    one does the work. If no monitor runs, every command that shows a job does the same work for that job.

    --once with JOB handles only that job, whose attempt has just ended. The batch script calls it on sites that forbid
    processes on login nodes (`monitor: none` of the profile).
    """
    from ...output.tables import print_calls

    if as_calls:
        call_log = session.sites.slurm_calls(site)
        if as_json:
            print_json(call_log)
        else:
            print_calls(call_log)
        return 0
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # On TERM a monitor makes way for the next one at once; so a monitor of another version can take over.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # SIGXCPU at the soft limit would terminate the process. Child processes would inherit an ignored signal.
    signal.signal(signal.SIGXCPU, lambda _, __: None)
    worked = session.jobs.run_monitor(job, site, once=once)
    if worked is None:
        return session.jobs.continue_monitor(*(["--site", site] if site else []), *(["--json"] if as_json else []))
    if as_json:
        print_json(worked)
    return 0
