"""`paislurm monitor`: look after the user's jobs."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import click

from ...options import examples, json_option, pass_session
from ...output.console import print_json
from ...shell.candidates import Job

if TYPE_CHECKING:
    from ....app.session import Session


@click.command(
    epilog=examples("paislurm monitor", "paislurm monitor --once", "paislurm monitor --bill")
    + "\n\n\b\nWhere no process may stay behind on a login node, cron or scrontab does:"
    "\n  */5 * * * * paislurm monitor --once"
)
@click.argument("job", metavar="[JOB]", required=False, type=Job())
@click.option("--bill", "as_bill", is_flag=True, help="Show what was asked of Slurm in the last 24 hours, and end.")
@click.option("--once", is_flag=True, help="Poll all jobs once, do what is due, and end.")
@click.option("--site", metavar="FILE", help="The site profile for all jobs. Default: each job's own.")
@json_option
@pass_session
def command(session: Session, site: str | None, job: str | None, *, as_bill: bool, once: bool, as_json: bool) -> int:
    """Look after your jobs: write down how they end, and submit the attempts that are due.

    It looks at the folders of jobs each second, and asks Slurm every three minutes, or as often as the site says, for
    all jobs at once; sooner where a folder says that Slurm has something to tell. --bill shows what was asked for you,
    by all commands.

    Each job has the notifier and the bounds of the site profile that it was submitted with. --site names one for all.

    It ends when nothing is left to watch. `submit` leaves one behind where the site allows it; of any number that
    run, one does the work. Every command that shows a job does the same for that job, if no monitor runs.

    With --once and JOB it looks at that job alone, whose attempt has just ended: where a site forbids processes on
    login nodes (`monitor: none` of its profile), the batch script calls this.
    """
    from ....app.bill import slurm_bill
    from ....app.monitoring import go_on_in_another, monitor_job, run_monitor
    from ....monitor.watching.folder_watch import outlive_warning
    from ...output.usage_table import print_bill

    if as_bill:
        bill = slurm_bill(session, site)
        if as_json:
            print_json(bill)
        else:
            print_bill(bill)
        return 0
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # A monitor that is told to end lets the next one begin at once; that is how one of another version takes over.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    outlive_warning()
    worked = monitor_job(session, job, site, once=once) if job else run_monitor(session, site, once=once)
    if worked is None:
        return go_on_in_another(session, [*(["--site", site] if site else []), *(["--json"] if as_json else [])])
    if as_json:
        print_json(worked)
    return 0
