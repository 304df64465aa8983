"""`paislurm monitor`: look after the user's jobs."""

from __future__ import annotations

import signal
import time

import click

from ....monitor.loop import Monitor
from ....monitor.notify import NotificationSender
from ...context import monitor_folder, store
from ...input.sites import find_site
from ...jobs.asking import seldom
from ...jobs.refresh import dependencies, monitor_lock
from ...options import examples, json_option
from ...output.console import log, one_line, print_json
from ...output.views import format_time

TRIES = 10
"""Seconds in which the lock may be a command's that only looks at a job."""


@click.command(
    epilog=examples("paislurm monitor", "paislurm monitor --once")
    + "\n\n\b\nWhere no process may stay behind on a login node, cron or scrontab does:"
    "\n  */5 * * * * paislurm monitor --once"
)
@click.option("--once", is_flag=True, help="Poll all jobs once, do what is due, and end.")
@click.option("--site", metavar="FILE", help="The site profile, which names the notifier and bounds the polling.")
@json_option
def command(site: str | None, *, once: bool, as_json: bool) -> int:
    """Look after your jobs: write down how they end, and submit the attempts that are due.

    It ends when nothing is left to watch. `submit` leaves one behind where the site allows it; of any number that
    run, one does the work. Every command that shows a job does the same for that job, if no monitor runs.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    profile = find_site(site)
    lock = monitor_lock()
    notifier = profile.notifier
    sender = NotificationSender(notifier.argv, mail=notifier.mail) if notifier else NotificationSender()
    ask = seldom(profile.monitor.max_poll_interval)
    monitor = Monitor(store(), dependencies(lock, ask), sender, _log)
    worked, tries, problem = False, 0, ""
    while tries < TRIES:
        with lock.taken() as mine:
            if mine:
                worked = True
                _work(monitor, once=once, interval=profile.monitor.max_poll_interval)
        if (worked and (once or not monitor.left())) or (not worked and not monitor.left()):
            break
        if lock.problem != problem:
            problem = lock.problem
            _log(f"{monitor_folder()} cannot be written: {problem}" if problem else "it can be written again")
        if problem and once:
            break
        # A folder that cannot be written is tried for as long as there are jobs.
        tries += not problem
        time.sleep(profile.monitor.max_poll_interval if problem else 0 if worked else 1)
    if not worked and not problem:
        log("another monitor is at work" if monitor.left() else "there is no job to look after")
    if as_json:
        print_json({"worked": worked})
    return 0


def _work(monitor: Monitor, *, once: bool, interval: float) -> None:
    try:
        if once:
            monitor.step()
        else:
            monitor.run(interval)
        monitor.finish()
    except OSError as error:
        _log(f"the lock is another monitor's, or cannot be written: {error}")


def _log(text: str) -> None:
    log(one_line(f"{format_time(int(time.time()))} {text}"))
